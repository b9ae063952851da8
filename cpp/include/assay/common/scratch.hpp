// Room for numbers that a kernel writes and forgets: on the stack where there is little of it. Pages of the stack stay with the
// thread, while those of the heap may have to be fetched and cleared by the system anew, which takes a small kernel's time.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "assay/common/views.hpp"

namespace assay {

// `count` uninitialised doubles at a multiple of 64 bytes, on the stack up to `most`.
template <index_t most>
class Scratch {
public:
    explicit Scratch(index_t count)
        : heap_(count <= most ? nullptr : std::aligned_alloc(64, static_cast<std::size_t>((count + 7) / 8 * 8) * 8)) {
        if (count > most && heap_ == nullptr) throw std::bad_alloc();
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    double* data() { return heap_ ? static_cast<double*>(heap_.get()) : stack_; }

private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> heap_;
    alignas(64) double stack_[most];
};

}  // namespace assay
