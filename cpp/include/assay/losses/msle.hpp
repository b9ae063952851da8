// Squared error of logarithms, (log(1 + f) - log(1 + y))^2 for f >= 0, continued below 0 by its second-order Taylor
// polynomial there, so that every score has a loss with two derivatives. Not convex where log(1 + f) > log(1 + y) + 1.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Msle {
    ASSAY_INLINE LossTerms at(double y, double f, double) {
        const double level = std::log1p(y);
        if (f >= 0.0) {
            const double gap = std::log1p(f) - level, share = 1.0 / (1.0 + f);
            return {gap * gap, 2.0 * gap * share, 2.0 * (1.0 - gap) * share * share};
        }
        const double hessian = 2.0 * (1.0 + level);
        return {level * level - 2.0 * level * f + 0.5 * hessian * f * f, -2.0 * level + hessian * f, hessian};
    }
};

}  // namespace assay::losses
