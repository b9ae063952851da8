// Losses that are half a unit deviance d(y, mu) = 2 int_mu^y (y - t) / V(t) dt of a mean mu = g^{-1}(f): a family gives V,
// V', d / 2, the residual y - mu and whether mu is in its range; a link (links.hpp) gives mu, mu', mu''. Then
//   gradient = -(y - mu) mu' / V,   Fisher = mu'^2 / V,   Hessian = Fisher - (y - mu) (mu'' / V - mu'^2 V' / V^2).
// Reference: McCullagh & Nelder, Generalized Linear Models, 2nd ed., 1989, ch. 2.
#pragma once

#include "assay/losses/links.hpp"
#include "assay/losses/terms.hpp"

namespace assay::losses {

struct Deviance {
    double variance, variance_slope, half_deviance, residual, inside;
};

struct Chained {
    double inverse_variance, gradient, fisher, observed;
};

ASSAY_INLINE Chained chain(const Mean& mean, const Deviance& terms) {
    const double inverse = 1.0 / terms.variance, ratio = mean.first * inverse, fisher = ratio * mean.first;
    const double turn = mean.second * inverse - ratio * ratio * terms.variance_slope;
    return {inverse, -terms.residual * ratio, fisher, fisher - terms.residual * turn};
}

// a log(a / b), 0 at a = 0
ASSAY_INLINE double entropy_term(double a, double b) {
    const bool some = a > 0.0;
    const double value = a * fast_log(some ? a / b : 1.0);
    return some ? value : 0.0;
}
ASSAY_INLINE double positive(double mu) { return mu > 0.0 && mu < 1e200 ? 1.0 : 0.0; }

// A family on a link, as a loss of the raw score.
template <class Family, class Link>
struct OfDeviance {
    ASSAY_INLINE LossTerms at(double y, double f, double parameter) {
        const Mean mean = Link::at(f);
        const Deviance terms = Family::deviance(y, mean, parameter);
        const Chained derivatives = chain(mean, terms);
        return {terms.half_deviance, derivatives.gradient, derivatives.observed};
    }
};

}  // namespace assay::losses
