// Squared error of a margin m, (1 - m)^2 / 2: least squares on targets -1 and 1.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct SquaredMargin {
    ASSAY_INLINE LossTerms at(double m) { return {0.5 * (1.0 - m) * (1.0 - m), m - 1.0, 1.0}; }
};

}  // namespace assay::losses
