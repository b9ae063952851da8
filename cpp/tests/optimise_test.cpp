#include "assay/optimise/newton_ascent.hpp"
#include "assay/optimise/step_schedule.hpp"

#include "check.hpp"

using namespace assay;

TEST("damped Newton climbs a concave function from where full steps run away") {
    // f(x) = -log cosh x: the full Newton step from 3 lands at -97.
    std::vector<double> x{3.0};
    std::vector<double> values;
    const int steps = newton_ascent(
        x, {40, 0.0},
        [](const std::vector<double>& at, std::vector<double>& step) {
            step[0] = -std::tanh(at[0]) * std::cosh(at[0]) * std::cosh(at[0]);
            return true;
        },
        [](const std::vector<double>& at) { return -std::log(std::cosh(at[0])); },
        [&](double gain) {
            values.push_back(gain);
            return gain < 1e-14;
        });
    CHECK_NEAR(x[0], 0.0, 1e-6);
    CHECK(steps > 1 && steps < 40);
    for (const double gain : values) CHECK(gain > 0.0);
}

TEST("damped Newton stays where no halving of a step helps") {
    std::vector<double> x{0.0, 1.0};
    const int steps = newton_ascent(
        x, {},
        [](const std::vector<double>&, std::vector<double>& step) {
            step = {1.0, 1.0};
            return true;
        },
        [](const std::vector<double>& at) { return -at[0] * at[0] - (at[1] - 1.0) * (at[1] - 1.0); },
        [](double) { return false; });
    CHECK(steps == 0 && x[0] == 0.0 && x[1] == 1.0);
}

TEST("damped Newton ends without a direction") {
    std::vector<double> x{2.0};
    CHECK(newton_ascent(x, {}, [](const auto&, auto&) { return false; }, [](const auto&) { return 0.0; },
                        [](double) { return true; }) == 0);
    CHECK(x[0] == 2.0);
}

TEST("lengths of steps by their formulas") {
    const auto at = [](StepRule rule) { return StepSchedule{rule, 0.4, 0.5, 0.3}.step(8.0, 2.0, 0.07); };
    CHECK_NEAR(at(StepRule::constant), 0.07, 0.0);
    CHECK_NEAR(at(StepRule::adaptive), 0.07, 0.0);
    CHECK_NEAR(at(StepRule::invscaling), 0.4 / 3.0, 1e-16);
    CHECK_NEAR(at(StepRule::inverse_time), 0.25, 1e-16);
    CHECK_NEAR(at(StepRule::exponential), 0.4 * std::exp(-0.6), 1e-16);
}
