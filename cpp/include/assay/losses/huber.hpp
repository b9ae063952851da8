// Huber's loss: squared up to epsilon, then linear with the same slope. Reference: Huber, Annals of Mathematical
// Statistics 35, 1964.
#pragma once

#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Huber {
    ASSAY_INLINE LossTerms at(double y, double f, double epsilon) {
        const double r = f - y, size = std::abs(r);
        const bool near = size <= epsilon;
        return {near ? 0.5 * r * r : epsilon * (size - 0.5 * epsilon), near ? r : epsilon * sign_of(r), near ? 1.0 : 0.0};
    }
};

}  // namespace assay::losses
