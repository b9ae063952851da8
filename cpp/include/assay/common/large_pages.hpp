// Vectors on large pages: arrays that are read in an order memory does not know miss the table of pages more often than the
// caches. An allocation of half a megabyte or more is laid out in pages of 2 MB where the system has them; smaller ones are
// plain.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace assay {

template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t n) {
        constexpr std::size_t page = std::size_t{2} << 20;
        if (n > static_cast<std::size_t>(-1) / 4 / sizeof(T)) throw std::bad_array_new_length();
        const std::size_t bytes = n * sizeof(T);
        const std::size_t whole = (bytes + page - 1) / page * page;
        void* const memory = bytes < page / 4 ? std::malloc(bytes > 0 ? bytes : 1) : std::aligned_alloc(page, whole);
        if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        // A tail keeps to small pages: no more memory than asked for.
        if (bytes >= page / 4) madvise(memory, bytes < page ? whole : bytes / page * page, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }

    template <class U>
    bool operator==(const LargePages<U>&) const {
        return true;
    }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

}  // namespace assay
