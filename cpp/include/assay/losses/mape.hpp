// Absolute error as a share of the target, |f - y| / |y|.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Mape {
    ASSAY_INLINE LossTerms at(double y, double f, double) {
        const double scale = 1.0 / std::abs(y);
        return {std::abs(f - y) * scale, sign_of(f - y) * scale, 0.0};
    }
};

}  // namespace assay::losses
