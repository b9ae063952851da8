// Damped Newton for kernels that climb a concave function: full steps, halved until the value does not fall.
//
//     x <- x + 2^-h d(x),   the least h < 20 with f(x + 2^-h d) > f(x) - slack |f(x)|
//
// d is the Newton direction. Where no halving helps (rounding decides there), x stays. The solvers above the kernels have
// numeric/newton.py, with scaling of their unknowns; this is for climbs of a few unknowns inside a kernel.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "assay/common/interrupt.hpp"

namespace assay {

struct NewtonLimits {
    int most_steps = 30;
    double slack = 0.0;  // relative fall of the value that counts as none
};

// direction(x, step) writes the step at x and says whether there is one; value(x) evaluates f; last(gain) hears what a step
// brought and says whether it was the last one. Returns the number of steps.
template <class Direction, class Value, class Last>
int newton_ascent(std::vector<double>& x, const NewtonLimits& limits, const Direction& direction, const Value& value,
                  const Last& last) {
    std::vector<double> step(x.size()), trial;
    double reached = value(x);
    for (int taken = 0; taken < limits.most_steps; ++taken) {
        if (interrupted() || !direction(x, step)) return taken;
        const double floor = reached - limits.slack * std::abs(reached);
        double length = 1.0, next = reached;
        bool found = false;
        for (int halving = 0; halving < 20 && !found; ++halving, length *= 0.5) {
            trial = x;
            for (std::size_t k = 0; k < x.size(); ++k) trial[k] += length * step[k];
            next = value(trial);
            found = next > floor;
        }
        if (!found) return taken;
        x.swap(trial);
        const double gain = next - std::exchange(reached, next);
        if (last(gain)) return taken + 1;
    }
    return limits.most_steps;
}

}  // namespace assay
