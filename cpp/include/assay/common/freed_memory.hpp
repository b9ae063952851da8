// Memory that was freed but is still held by the allocator goes back to the system: where threads have freed large buffers of
// their own, other threads cannot use them, and what follows would be added to them at the peak.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "assay/common/views.hpp"

namespace assay {

// After work on so many cells; where they are few there is nothing to gain.
inline void return_freed_memory([[maybe_unused]] index_t cells) {
#ifdef __GLIBC__
    if (cells >= index_t{1} << 22) malloc_trim(0);
#endif
}

// What lies in memory that is still to be freed is not needed any more: its whole pages go back to the system now.
inline void release_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
    constexpr std::uintptr_t page = 4096;
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) / page * page;
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
    if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
#endif
}

// Vectors of numbers that `resize` leaves as they are: a page counts from when it is first written.
template <class T>
struct Unwritten : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unwritten<U>;
    };
    template <class U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Given>
    void construct(U* at, Given&&... given) {
        ::new (static_cast<void*>(at)) U(std::forward<Given>(given)...);
    }
};

}  // namespace assay
