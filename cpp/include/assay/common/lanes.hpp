// Vectors of lanes by name, for loops whose sums must stay in registers: W lanes to a vector, NV vectors at once.
#pragma once

#include <cstdint>

#include "assay/common/simd.hpp"

namespace assay {

template <int W>
struct FloatLanes {
    typedef float type __attribute__((vector_size(W * 4), aligned(4), may_alias));
    typedef std::int32_t whole __attribute__((vector_size(W * 4), aligned(4), may_alias));
};

// Eight float64 side by side, held in vectors of W of them: the same operations in the same lanes whatever the registers
// are, and no vector wider than they are, which compilers take apart lane by lane.
template <int W>
struct Eight {
    typedef double Part __attribute__((vector_size(W * 8), aligned(8), may_alias));
    static constexpr int parts = 8 / W;
    Part part[parts];

#define ASSAY_EACH_PART _Pragma("GCC unroll 4") for (int i = 0; i < parts; ++i)
    __attribute__((always_inline)) static Eight load(const double* from) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = *reinterpret_cast<const Part*>(from + i * W);
        return out;
    }
    __attribute__((always_inline)) static Eight all(double value) {
        Eight out = {};
        ASSAY_EACH_PART out.part[i] += value;
        return out;
    }
    __attribute__((always_inline)) void store(double* to) const {
        ASSAY_EACH_PART *reinterpret_cast<Part*>(to + i * W) = part[i];
    }
    __attribute__((always_inline)) Eight& operator+=(const Eight& other) {
        ASSAY_EACH_PART part[i] += other.part[i];
        return *this;
    }
    __attribute__((always_inline)) Eight& operator-=(const Eight& other) {
        ASSAY_EACH_PART part[i] -= other.part[i];
        return *this;
    }
    __attribute__((always_inline)) friend Eight operator+(const Eight& a, const Eight& b) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = a.part[i] + b.part[i];
        return out;
    }
    __attribute__((always_inline)) friend Eight operator-(const Eight& a, const Eight& b) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = a.part[i] - b.part[i];
        return out;
    }
    __attribute__((always_inline)) friend Eight operator-(const Eight& a, double b) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = a.part[i] - b;
        return out;
    }
    __attribute__((always_inline)) friend Eight operator*(const Eight& a, const Eight& b) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = a.part[i] * b.part[i];
        return out;
    }
    __attribute__((always_inline)) friend Eight operator*(double a, const Eight& b) {
        Eight out;
        ASSAY_EACH_PART out.part[i] = a * b.part[i];
        return out;
    }
#undef ASSAY_EACH_PART
    __attribute__((always_inline)) double lane(int l) const { return part[l / W][l % W]; }
};

}  // namespace assay

// As ASSAY_DISPATCH, for a body that is a template over the lanes of a vector and the vectors held in registers.
#define ASSAY_DISPATCH_LANES(result, name, body, parameters, arguments) \
    ASSAY_DISPATCH_EACH(result, name, (body<16, 4>), (body<8, 2>), (body<4, 2>), parameters, arguments)

// As ASSAY_DISPATCH, for a body that is a template over the float64 lanes of a vector.
#define ASSAY_DISPATCH_DOUBLES(result, name, body, parameters, arguments) \
    ASSAY_DISPATCH_EACH(result, name, (body<8>), (body<4>), (body<2>), parameters, arguments)
