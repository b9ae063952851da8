// Quantile (pinball) loss at level q: q (y - f) where y is above f, (1 - q) (f - y) below; the best constant is the
// q-quantile. Reference: Koenker & Bassett, Regression quantiles, Econometrica 46, 1978.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Quantile {
    ASSAY_INLINE LossTerms at(double y, double f, double level) {
        const double r = f - y, gradient = r > 0.0 ? 1.0 - level : (r < 0.0 ? -level : 0.0);
        return {gradient * r, gradient, 0.0};
    }
};

}  // namespace assay::losses
