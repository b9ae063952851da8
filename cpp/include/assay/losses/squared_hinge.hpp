// Squared hinge max(0, 1 - m)^2 of a margin m.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct SquaredHinge {
    ASSAY_INLINE LossTerms at(double m) {
        const double gap = m < 1.0 ? 1.0 - m : 0.0;
        return {gap * gap, -2.0 * gap, m < 1.0 ? 2.0 : 0.0};
    }
};

}  // namespace assay::losses
