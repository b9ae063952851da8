// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). The i-th block of a stream is a pure function of (key, i), so any thread can produce any part.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace assay {

inline std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high) {
    std::array<std::uint32_t, 4> x{
        static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
        static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
    std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = 0xD2511F53ULL * x[0], b = 0xCD9E8D57ULL * x[2];
        x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(b),
             static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(a)};
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return x;
}

// What can be drawn from a `Source` of 32 random bits at a time (its `bits32`).
template <class Source>
class Draws {
public:
    std::uint64_t bits64() {
        const std::uint64_t high = bits32();
        return (high << 32) | bits32();
    }
    // Uniform in [0, 1) with 53 bits.
    double uniform() { return static_cast<double>(bits64() >> 11) * 0x1.0p-53; }
    // Uniform integer in [0, n), without bias (Lemire's method).
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = static_cast<std::uint64_t>(bits32()) * n;
        if (static_cast<std::uint32_t>(product) < n) {
            const std::uint32_t floor = (0U - n) % n;
            while (static_cast<std::uint32_t>(product) < floor) product = static_cast<std::uint64_t>(bits32()) * n;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }
    // Standard normal by Box-Muller; draws two uniforms each time so that the position is easy to predict.
    double normal() {
        const double u = 1.0 - uniform(), v = uniform();
        return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
    }

private:
    std::uint32_t bits32() { return static_cast<Source*>(this)->bits32(); }
};

// A sequence of draws from one stream. `stream` selects an independent sequence below the same key (a tree, a fold).
class Random : public Draws<Random> {
public:
    explicit Random(std::uint64_t key, std::uint64_t stream = 0) : key_(key), stream_(stream) {}

    std::uint32_t bits32() {
        if (used_ == 4) {
            block_ = philox(key_, counter_++, stream_);
            used_ = 0;
        }
        return block_[used_++];
    }

private:
    std::uint64_t key_, stream_, counter_ = 0;
    std::array<std::uint32_t, 4> block_{};
    int used_ = 4;
};

}  // namespace assay
