// What a loss says about one row: its value, and its first and second derivative in the raw score.
#pragma once

#include <cmath>

#include "assay/common/simd.hpp"

namespace assay::losses {

struct LossTerms {
    double value, gradient, hessian;
};

ASSAY_INLINE double sign_of(double r) { return static_cast<double>(r > 0.0) - static_cast<double>(r < 0.0); }

}  // namespace assay::losses
