// Arrays that grow and shrink with their pages: a large one is mapped by itself, so that growing moves pages instead of cells
// and what is let go of returns to the system at once. From the heap an array that grows may be held twice, and one that
// is freed may stay resident.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace assay {

template <class T>
class OwnPages {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    OwnPages() = default;
    explicit OwnPages(std::size_t count) { resize(count); }
    OwnPages(OwnPages&& other) noexcept
        : cells_(std::exchange(other.cells_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    OwnPages& operator=(OwnPages&& other) noexcept {
        std::swap(cells_, other.cells_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~OwnPages() { release(); }

    T* get() const { return cells_; }
    T& operator[](std::size_t i) const { return cells_[i]; }
    // Keeps the first cells; new ones are not cleared.
    void resize(std::size_t count) {
        if (count > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
        const std::size_t bytes = std::max<std::size_t>(count * sizeof(T), 1);
        void* to = nullptr;
#ifdef __linux__
        if (bytes >= least_mapped) {
            to = bytes_ >= least_mapped
                     ? mremap(cells_, bytes_, bytes, MREMAP_MAYMOVE)
                     : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (to == MAP_FAILED) throw std::bad_alloc();
            if (bytes_ > 0 && bytes_ < least_mapped) {
                std::memcpy(to, cells_, bytes_);
                std::free(cells_);
            }
            cells_ = static_cast<T*>(to);
            bytes_ = bytes;
            return;
        }
        if (bytes_ >= least_mapped) {
            to = std::malloc(bytes);
            if (to == nullptr) throw std::bad_alloc();
            std::memcpy(to, cells_, bytes);
            munmap(cells_, bytes_);
            cells_ = static_cast<T*>(to);
            bytes_ = bytes;
            return;
        }
#endif
        to = std::realloc(cells_, bytes);
        if (to == nullptr) throw std::bad_alloc();
        cells_ = static_cast<T*>(to);
        bytes_ = bytes;
    }
    void release() {
#ifdef __linux__
        if (bytes_ >= least_mapped) munmap(cells_, bytes_);
        else std::free(cells_);
#else
        std::free(cells_);
#endif
        cells_ = nullptr;
        bytes_ = 0;
    }

private:
    static constexpr std::size_t least_mapped = std::size_t{1} << 18;
    T* cells_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace assay
