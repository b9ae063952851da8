// Vectors of float32 lanes by name, for loops whose sums must stay in registers: W lanes to a vector, NV vectors at once.
#pragma once

#include <cstdint>

#include "assay/common/simd.hpp"

namespace assay {

template <int W>
struct FloatLanes {
    typedef float type __attribute__((vector_size(W * 4), aligned(4), may_alias));
    typedef std::int32_t whole __attribute__((vector_size(W * 4), aligned(4), may_alias));
};

}  // namespace assay

// As ASSAY_DISPATCH, for a body that is a template over the lanes of a vector and the vectors held in registers.
#if defined(__x86_64__) && defined(__GNUC__)
#define ASSAY_DISPATCH_LANES(result, name, body, parameters, arguments)                                                   \
    __attribute__((target("arch=x86-64-v4"))) static result name##_avx512 parameters { return body<16, 4> arguments; }    \
    __attribute__((target("arch=x86-64-v3"))) static result name##_avx2 parameters { return body<8, 2> arguments; }       \
    static result name##_baseline parameters { return body<4, 2> arguments; }                                             \
    static inline result name parameters {                                                                                \
        switch (::assay::simd_level()) {                                                                                  \
            case ::assay::Simd::avx512: return name##_avx512 arguments;                                                   \
            case ::assay::Simd::avx2: return name##_avx2 arguments;                                                       \
            default: return name##_baseline arguments;                                                                    \
        }                                                                                                                 \
    }
#else
#define ASSAY_DISPATCH_LANES(result, name, body, parameters, arguments) \
    static inline result name parameters { return body<4, 2> arguments; }
#endif
