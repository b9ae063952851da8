// The penalty of one problem, and its duality gap.
#pragma once

#include <algorithm>
#include <cmath>

namespace assay::elastic_net {

struct Penalty {
    double l1 = 0, l2 = 0;
    bool positive = false;

    // How far g exceeds nothing: the part of g that the l1 penalty has to hold.
    double pull(double g) const { return positive ? std::max(g, 0.0) : std::abs(g); }
    double soft(double value, double threshold) const {
        if (value > threshold) return value - threshold;
        return !positive && value < -threshold ? value + threshold : 0.0;
    }
};

// Sums that both dual points need.
struct GapSums {
    double y_squares = 0, residual_squares = 0;
    double fitted = 0;      // c'b
    double absolute = 0;    // sum v |b|
    double squares = 0;     // sum v b^2
    double excess = 0;      // largest pull(g - l2 v b) / v
    double conjugate = 0;   // sum (pull(g) - l1 v)_+^2 / v

    void add(const Penalty& penalty, double v, double b, double g, double c, double slack = 0) {
        fitted += c * b;
        absolute += v * std::abs(b);
        squares += v * b * b;
        const double most = penalty.pull(g) + slack;
        excess = std::max(excess, slack > 0 ? most / v : penalty.pull(g - penalty.l2 * v * b) / v);
        const double over = std::max(0.0, most - penalty.l1 * v);
        conjugate += over * over / v;
    }
    double objective(const Penalty& penalty) const {
        return 0.5 * residual_squares + penalty.l1 * absolute + 0.5 * penalty.l2 * squares;
    }
    double gap(const Penalty& penalty) const {
        const double along = y_squares - fitted, length = residual_squares + penalty.l2 * squares;
        double dual = 0;
        if (length > 0 && penalty.l1 > 0) {
            const double most = excess > penalty.l1 ? penalty.l1 / excess : 1.0;
            const double scale = std::clamp(along / length, -most, most);
            dual = scale * along - 0.5 * scale * scale * length;
        }
        if (penalty.l2 > 0) dual = std::max(dual, along - 0.5 * residual_squares - 0.5 * conjugate / penalty.l2);
        return std::max(0.0, objective(penalty) - dual);
    }
};

}  // namespace assay::elastic_net
