// Value, gradient and Hessian of the losses in the raw score f, per row; what boosting needs of each.
#pragma once

#include <cmath>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"

namespace assay::ensembles {

struct RowTerms {
    double value, gradient, hessian;
};

constexpr double largest_log = 230.0;
ASSAY_INLINE double bounded(double f) { return f < -largest_log ? -largest_log : (f > largest_log ? largest_log : f); }

struct SquaredTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double) { return {0.5 * (f - y) * (f - y), f - y, 1.0}; }
};
struct AbsoluteTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double) {
        const double r = f - y;
        return {std::abs(r), static_cast<double>(r > 0) - static_cast<double>(r < 0), 1.0};
    }
};
struct HuberTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double delta) {
        const double r = f - y, a = std::abs(r);
        const bool inside = a <= delta;
        const double value = inside ? 0.5 * r * r : delta * (a - 0.5 * delta);
        const double gradient = inside ? r : (r > 0 ? delta : -delta);
        return {value, gradient, 1.0};
    }
};
struct QuantileTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double level) {
        const double r = f - y, gradient = r > 0 ? 1.0 - level : (r < 0 ? -level : 0.0);
        return {gradient * r, gradient, 1.0};
    }
};
struct PoissonTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double) {
        f = bounded(f);
        const double mu = fast_exp(f);
        const double rest = y > 0 ? y * (fast_log(y > 0 ? y : 1.0) - f) - y : 0.0;
        return {mu + rest, mu - y, mu};
    }
};
struct GammaTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double) {
        f = bounded(f);
        const double ratio = y * fast_exp(-f);
        return {ratio - 1.0 - fast_log(y) + f, 1.0 - ratio, ratio};
    }
};
struct TweedieTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double p) {
        f = bounded(f);
        const double a = fast_exp((1.0 - p) * f), b = fast_exp((2.0 - p) * f);
        const double own = y > 0 ? fast_exp((2.0 - p) * fast_log(y > 0 ? y : 1.0)) / ((1.0 - p) * (2.0 - p)) : 0.0;
        return {own - y * a / (1.0 - p) + b / (2.0 - p), b - y * a, (2.0 - p) * b - (1.0 - p) * y * a};
    }
};
struct LogisticTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double) {
        const double u = fast_exp(-std::abs(bounded(f))), q = 1.0 / (1.0 + u), mu = f >= 0.0 ? q : u * q;
        const double value = log1p_unit(u) + (f > 0.0 ? f : 0.0) - y * f;
        return {value, mu - y, u * q * q};
    }
};

}  // namespace assay::ensembles
