// Squared hinge of a margin m made linear below -1, so that outliers count less. Reference: Zhang, ICML 2004.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct ModifiedHuber {
    ASSAY_INLINE LossTerms at(double m) {
        const double gap = m < 1.0 ? 1.0 - m : 0.0;
        const bool far = m < -1.0;
        return {far ? -4.0 * m : gap * gap, far ? -4.0 : -2.0 * gap, m < 1.0 && !far ? 2.0 : 0.0};
    }
};

}  // namespace assay::losses
