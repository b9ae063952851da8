// Exponential loss exp(-m) of a margin m, the one AdaBoost descends. Reference: Friedman, Hastie & Tibshirani, Annals of
// Statistics 28, 2000.
#pragma once

#include "assay/losses/links.hpp"
#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Exponential {
    ASSAY_INLINE LossTerms at(double m) {
        const double value = fast_exp(clip(-m, -largest_log, largest_log));
        return {value, -value, value};
    }
};

}  // namespace assay::losses
