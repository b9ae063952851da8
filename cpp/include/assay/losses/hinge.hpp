// Hinge max(0, 1 - m) of a margin m.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Hinge {
    ASSAY_INLINE LossTerms at(double m) { return {m < 1.0 ? 1.0 - m : 0.0, m < 1.0 ? -1.0 : 0.0, 0.0}; }
};

}  // namespace assay::losses
