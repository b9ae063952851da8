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
#define ASSAY_DISPATCH_LANES(result, name, body, parameters, arguments) \
    ASSAY_DISPATCH_EACH(result, name, (body<16, 4>), (body<8, 2>), (body<4, 2>), parameters, arguments)
