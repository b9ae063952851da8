// Log loss of a margin m, log(1 + exp(-m)): minus the log likelihood of the row's own class when its log odds are m.
// Every term is written in u = exp(-|m|), free of cancellation. As a family: the Bernoulli, V = mu (1 - mu).
#pragma once

#include "assay/losses/deviance.hpp"

namespace assay::losses {

struct LogLoss {
    ASSAY_INLINE LossTerms at(double m) {
        const double size = std::abs(m), u = fast_exp(-size), q = 1.0 / (1.0 + u);
        return {log1p_unit(u) + (m < 0.0 ? size : 0.0), -(m >= 0.0 ? u * q : q), u * q * q};
    }
    // 1 / (1 + exp(-f))
    ASSAY_INLINE double probability(double f) {
        const double u = fast_exp(-std::abs(f));
        return (f >= 0.0 ? 1.0 : u) / (1.0 + u);
    }
    ASSAY_INLINE Deviance deviance(double y, const Mean& m, double) {
        const double loss = entropy_term(y, m.mu) + entropy_term(1.0 - y, m.rest);
        const double inside = (m.mu > 0.0 && m.rest > 0.0) ? 1.0 : 0.0;
        return {m.mu * m.rest, m.rest - m.mu, loss, y * m.rest - (1.0 - y) * m.mu, inside};
    }
};

}  // namespace assay::losses
