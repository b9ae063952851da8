#include "assay/agents/mdp.hpp"

#include <vector>

#include "check.hpp"

using namespace assay;

TEST("two rooms: going to the one that pays is worth half of staying there") {
    // Action 0 stays, action 1 goes to room 1; room 1 pays 1 each time.
    const std::vector<std::int64_t> starts{0, 1, 2, 3, 4};
    const std::vector<std::int32_t> next{0, 1, 1, 1};
    const std::vector<double> chance(4, 1.0), rewards{0.0, 0.0, 1.0, 1.0};
    const agents::Process process{2, 2, starts.data(), next.data(), chance.data(), rewards.data()};
    for (const bool in_place : {false, true}) {
        std::vector<double> values(2, 0.0), q(4);
        std::vector<std::int64_t> policy(2);
        const auto plan = agents::plan_values(process, 0.5, in_place, 0, true, 1e-10, 1000, values.data(), 1);
        CHECK(plan.converged);
        CHECK_NEAR(values[0], 1.0, 1e-9);
        CHECK_NEAR(values[1], 2.0, 1e-9);
        agents::action_values(process, 0.5, values.data(), q.data(), policy.data(), 1);
        CHECK(policy[0] == 1 && policy[1] == 0);
        CHECK_NEAR(q[0], 0.5, 1e-9);
    }
}
