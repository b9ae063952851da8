// Absolute error |f - y|: its minimiser is the median.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct AbsoluteError {
    ASSAY_INLINE LossTerms at(double y, double f, double) { return {std::abs(f - y), sign_of(f - y), 0.0}; }
};

}  // namespace assay::losses
