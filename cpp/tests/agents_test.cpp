#include "assay/agents/mdp.hpp"
#include "assay/agents/temporal_difference.hpp"

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

TEST("an agent learns the arm that pays, and a trace carries the reward back") {
    // A corridor of four states; action 1 goes right, action 0 stays; the last step pays 1 and ends the walk.
    const std::vector<std::int64_t> starts{0, 1, 2, 3, 4, 5, 6};
    const std::vector<std::int32_t> next{0, 1, 1, 2, 2, 2}, first{0};
    const std::vector<double> upto(6, 1.0), rewards{0, 0, 0, 0, 0, 1}, noise(6, 0.0), begins{1.0};
    const std::vector<std::uint8_t> ends{0, 0, 0, 0, 0, 1};
    const agents::Outcomes world{3,           2,           6,           1,           starts.data(), next.data(),
                                 upto.data(), rewards.data(), noise.data(), ends.data(), first.data(),  begins.data()};
    const std::vector<double> explore(200, 0.3), rate(200, 0.5);
    agents::Lessons lessons;
    lessons.replicates = 3;
    lessons.episodes = 200;
    lessons.most_steps = 1000;
    lessons.explore = explore.data();
    lessons.rate = rate.data();
    for (const bool on_policy : {false, true})
        for (const double lambda : {0.0, 0.9}) {
            agents::Rule rule;
            rule.on_policy = on_policy;
            rule.lambda = lambda;
            rule.discount = 0.5;
            std::vector<double> one(18), two(18), returns(600);
            std::vector<std::int64_t> lengths(600);
            std::vector<agents::Update> updates;
            agents::learn_values(world, rule, lessons, 0.0, 7, one.data(), returns.data(), lengths.data(), updates, 1);
            agents::learn_values(world, rule, lessons, 0.0, 7, two.data(), returns.data(), lengths.data(), updates, 3);
            CHECK(one == two);
            CHECK_NEAR(one[5], 1.0, 1e-6);
            for (int s = 0; s < 3; ++s) CHECK(one[2 * static_cast<std::size_t>(s) + 1] > one[2 * static_cast<std::size_t>(s)]);
            if (!on_policy) CHECK_NEAR(one[1], 0.25, 1e-3);
        }
    const std::vector<std::int64_t> policy{1, 1, 1};
    std::vector<double> returns(5);
    std::vector<std::int64_t> lengths(5);
    agents::follow_policy(world, policy.data(), 5, 100, 1.0, 1, returns.data(), lengths.data(), 2);
    CHECK(returns[4] == 1.0 && lengths[0] == 3);
}
