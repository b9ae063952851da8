// How long the steps of gradient descent are, for linear sums and for nets.
//
// After t updates and e epochs (fractions counted):
//     constant      eta0                        invscaling   eta0 / (t + 1)^power
//     inverse_time  eta0 / (1 + decay e)        exponential  eta0 exp(-decay e)
//     adaptive      divided by 5 whenever the loss stands still, down to a millionth of eta0: `eta` is its state, which the
//                   descent keeps and which the others pass on unread.
#pragma once

#include <cmath>

namespace assay {

enum class StepRule : int { constant, invscaling, inverse_time, exponential, adaptive };

struct StepSchedule {
    StepRule rule = StepRule::constant;
    double eta0 = 0.1, power = 0.5, decay = 0.01;

    double step(double updates, double epochs, double eta) const {
        switch (rule) {
            case StepRule::invscaling: return eta0 / std::pow(updates + 1.0, power);
            case StepRule::inverse_time: return eta0 / (1.0 + decay * epochs);
            case StepRule::exponential: return eta0 * std::exp(-decay * epochs);
            default: return eta;
        }
    }

    bool adaptive() const { return rule == StepRule::adaptive; }
};

}  // namespace assay
