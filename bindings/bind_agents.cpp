// Agents: planning in a known Markov decision process, and learning by temporal differences.
#include "assay/agents/mdp.hpp"
#include "assay/agents/temporal_difference.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

agents::Process process_of(const char* who, const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& next,
                           const Array1<const double>& chance, const Array2<const double>& rewards,
                           const Array1<const double>& values) {
    const std::size_t states = rewards.shape(0), actions = rewards.shape(1), entries = next.shape(0);
    require(states > 0 && actions > 0 && values.shape(0) == states, who, "values must have one number per state");
    require(starts.shape(0) == states * actions + 1 && starts.data()[0] == 0 &&
                starts.data()[states * actions] == static_cast<std::int64_t>(entries) && chance.shape(0) == entries,
            who, "starts must delimit a row for each state and action");
    for (std::size_t r = 0; r < states * actions; ++r)
        require(starts.data()[r + 1] >= starts.data()[r], who, "starts must not fall");
    for (std::size_t p = 0; p < entries; ++p)
        require(next.data()[p] >= 0 && static_cast<std::size_t>(next.data()[p]) < states, who, "next must be states");
    return {static_cast<index_t>(states), static_cast<index_t>(actions), starts.data(), next.data(), chance.data(),
            rewards.data()};
}

using Whole = Array1<const std::int64_t>;
using States = Array1<const std::int32_t>;
using Numbers = Array1<const double>;
using Flags = Array1<const std::uint8_t>;

// A world as a table, with every index and every end checked.
agents::Outcomes outcomes_of(const char* who, std::int64_t n_states, std::int64_t n_actions, const Whole& starts,
                             const States& next, const Numbers& upto, const Numbers& rewards, const Numbers& noise,
                             const Flags& ends, const States& first, const Numbers& first_upto) {
    require(n_states > 0 && n_actions > 0, who, "there must be states and actions");
    const auto rows = static_cast<std::size_t>(n_states) * static_cast<std::size_t>(n_actions);
    const std::size_t entries = next.shape(0);
    require(starts.shape(0) == rows + 1 && starts.data()[0] == 0 &&
                starts.data()[rows] == static_cast<std::int64_t>(entries),
            who, "starts must delimit a row for each state and action");
    for (std::size_t r = 0; r < rows; ++r)
        require(starts.data()[r + 1] > starts.data()[r], who, "every state and action must have an outcome");
    require(upto.shape(0) == entries && rewards.shape(0) == entries && noise.shape(0) == entries && ends.shape(0) == entries,
            who, "outcomes must have one chance, reward, noise and end each");
    for (std::size_t p = 0; p < entries; ++p)
        require(next.data()[p] >= 0 && next.data()[p] < n_states, who, "next must be states");
    require(first.shape(0) > 0 && first_upto.shape(0) == first.shape(0), who, "there must be a state to begin in");
    for (std::size_t p = 0; p < first.shape(0); ++p)
        require(first.data()[p] >= 0 && first.data()[p] < n_states, who, "first must be states");
    return {static_cast<index_t>(n_states), static_cast<index_t>(n_actions), static_cast<index_t>(entries),
            static_cast<index_t>(first.shape(0)), starts.data(), next.data(), upto.data(), rewards.data(), noise.data(),
            ends.data(), first.data(), first_upto.data()};
}

agents::Rule rule_of(bool on_policy, double lambda, bool accumulate, bool cut, bool softmax, double discount, double power) {
    require(lambda >= 0.0 && lambda <= 1.0 && discount >= 0.0 && discount <= 1.0 && power >= 0.0, "rule",
            "lambda and discount must be in [0, 1] and power not negative");
    return {.on_policy = on_policy, .accumulate = accumulate, .cut = cut, .softmax = softmax,
            .lambda = lambda, .discount = discount, .power = power};
}

void bind_learning(nb::module_& m) {
    nb::class_<agents::Rule>(m, "TemporalDifferenceRule", "How an agent learns and explores.")
        .def("__init__",
             [](agents::Rule* self, bool on_policy, double lambda, bool accumulate, bool cut, bool softmax, double discount,
                double power) {
                 new (self) agents::Rule(rule_of(on_policy, lambda, accumulate, cut, softmax, discount, power));
             },
             "on_policy"_a, "trace_decay"_a, "accumulate"_a, "cut"_a, "softmax"_a, "discount"_a, "power"_a);
    nb::class_<agents::Agent>(m, "TemporalDifferenceAgent", "An agent that learns from one step at a time.")
        .def("__init__",
             [](agents::Agent* self, std::int64_t states, std::int64_t actions, const agents::Rule& rule, double initial,
                std::uint64_t key, std::uint64_t stream) {
                 require(states > 0 && actions > 0, "TemporalDifferenceAgent", "there must be states and actions");
                 new (self) agents::Agent(static_cast<index_t>(states), static_cast<index_t>(actions), rule, initial, key,
                                          stream);
             },
             "states"_a, "actions"_a, "rule"_a, "initial"_a, "key"_a, "stream"_a)
        .def(
            "begin",
            [](agents::Agent& self, std::int64_t state, double explore, double rate) {
                require(state >= 0 && state < self.states(), "begin", "state must be one of the states");
                return self.begin(static_cast<index_t>(state), explore, rate);
            },
            "state"_a, "explore"_a, "rate"_a, "The first action of an episode.")
        .def(
            "step",
            [](agents::Agent& self, double reward, std::int64_t next, bool ends) {
                require(next >= 0 && next < self.states(), "step", "next must be one of the states");
                return self.step(reward, static_cast<index_t>(next), ends);
            },
            "reward"_a, "next"_a, "ends"_a, "Learn from what the action brought; the next action, -1 at the end.")
        .def_prop_ro("error", &agents::Agent::error, "The last temporal difference.")
        .def(
            "values",
            [](const agents::Agent& self) {
                std::vector<double> q(self.values());
                return own(std::move(q), static_cast<std::size_t>(self.states()), static_cast<std::size_t>(self.actions()));
            },
            "The table of values, states x actions.");
    m.def(
        "learn_values",
        [](std::int64_t n_states, std::int64_t n_actions, const Whole& starts, const States& next, const Numbers& upto,
           const Numbers& rewards, const Numbers& noise, const Flags& ends, const States& first, const Numbers& first_upto,
           const agents::Rule& rule, const Numbers& explore, const Numbers& rate, std::int64_t replicates,
           std::int64_t most_steps, std::int64_t most_updates, double initial, std::uint64_t key, int threads) {
            const auto world = outcomes_of("learn_values", n_states, n_actions, starts, next, upto, rewards, noise, ends,
                                           first, first_upto);
            require(explore.shape(0) == rate.shape(0) && replicates > 0 && most_steps > 0, "learn_values",
                    "explore and rate must have one number per episode");
            agents::Lessons lessons;
            lessons.replicates = static_cast<index_t>(replicates);
            lessons.episodes = static_cast<index_t>(rate.shape(0));
            lessons.most_steps = static_cast<index_t>(most_steps);
            lessons.most_updates = static_cast<index_t>(most_updates);
            lessons.explore = explore.data();
            lessons.rate = rate.data();
            const auto runs = static_cast<std::size_t>(replicates), episodes = rate.shape(0);
            const auto pairs = static_cast<std::size_t>(n_states * n_actions);
            std::vector<double> values(runs * pairs), returns(runs * episodes);
            std::vector<std::int64_t> lengths(runs * episodes);
            std::vector<agents::Update> updates;
            without_gil([&] {
                agents::learn_values(world, rule, lessons, initial, key, values.data(), returns.data(), lengths.data(),
                                     updates, threads);
            });
            std::vector<double> told;
            told.reserve(updates.size() * 6);
            for (const agents::Update& one : updates) {
                for (const std::int64_t number : {one.episode, one.state, one.action, one.next})
                    told.push_back(static_cast<double>(number));
                told.push_back(one.reward);
                told.push_back(one.error);
            }
            return nb::make_tuple(own(std::move(values), runs, pairs), own(std::move(returns), runs, episodes),
                                  own(std::move(lengths), runs, episodes), own(std::move(told), updates.size(), 6));
        },
        "n_states"_a, "n_actions"_a, "starts"_a, "next"_a, "upto"_a, "rewards"_a, "noise"_a, "ends"_a, "first"_a,
        "first_upto"_a, "rule"_a, "explore"_a, "rate"_a, "replicates"_a, "most_steps"_a, "most_updates"_a, "initial"_a,
        "key"_a, "threads"_a, "Values that replicates of an agent learn in a world that is a table; returns, lengths, first updates.");
    m.def(
        "follow_policy",
        [](std::int64_t n_states, std::int64_t n_actions, const Whole& starts, const States& next, const Numbers& upto,
           const Numbers& rewards, const Numbers& noise, const Flags& ends, const States& first, const Numbers& first_upto,
           const Whole& policy, std::int64_t episodes, std::int64_t most_steps, double discount, std::uint64_t key,
           int threads) {
            const auto world = outcomes_of("follow_policy", n_states, n_actions, starts, next, upto, rewards, noise, ends,
                                           first, first_upto);
            require(policy.shape(0) == static_cast<std::size_t>(n_states), "follow_policy", "policy must have an action per state");
            for (std::size_t s = 0; s < policy.shape(0); ++s)
                require(policy.data()[s] >= 0 && policy.data()[s] < n_actions, "follow_policy", "policy must hold actions");
            require(episodes >= 0 && most_steps > 0, "follow_policy", "there must be steps");
            std::vector<double> returns(static_cast<std::size_t>(episodes));
            std::vector<std::int64_t> lengths(static_cast<std::size_t>(episodes));
            without_gil([&] {
                agents::follow_policy(world, policy.data(), static_cast<index_t>(episodes), static_cast<index_t>(most_steps),
                                      discount, key, returns.data(), lengths.data(), threads);
            });
            return nb::make_tuple(own(std::move(returns)), own(std::move(lengths)));
        },
        "n_states"_a, "n_actions"_a, "starts"_a, "next"_a, "upto"_a, "rewards"_a, "noise"_a, "ends"_a, "first"_a,
        "first_upto"_a, "policy"_a, "episodes"_a, "most_steps"_a, "discount"_a, "key"_a, "threads"_a,
        "Returns and lengths of walks under a policy.");
}

}  // namespace

void bind_agents(nb::module_& m) {
    m.def(
        "plan_values",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& next,
           const Array1<const double>& chance, const Array2<const double>& rewards, const Array1<const double>& values,
           double discount, bool in_place, std::int64_t evaluations, bool by_span, double tol, std::int64_t most_sweeps,
           int threads) {
            const auto process = process_of("plan_values", starts, next, chance, rewards, values);
            require(discount >= 0.0 && discount < 1.0, "plan_values", "discount must be in [0, 1)");
            std::vector<double> found(values.data(), values.data() + values.shape(0));
            auto plan = without_gil([&] {
                return agents::plan_values(process, discount, in_place, static_cast<index_t>(evaluations), by_span, tol,
                                           static_cast<index_t>(most_sweeps), found.data(), threads);
            });
            return nb::make_tuple(own(std::move(found)), own(std::move(plan.changes)), plan.converged);
        },
        "starts"_a, "next"_a, "chance"_a, "rewards"_a, "values"_a, "discount"_a, "in_place"_a, "evaluations"_a,
        "by_span"_a, "tol"_a, "most_sweeps"_a, "threads"_a, "Values of a Markov decision process, the change of each sweep, converged.");
    m.def(
        "action_values",
        [](const Array1<const std::int64_t>& starts, const Array1<const std::int32_t>& next,
           const Array1<const double>& chance, const Array2<const double>& rewards, const Array1<const double>& values,
           double discount, int threads) {
            const auto process = process_of("action_values", starts, next, chance, rewards, values);
            std::vector<double> q(rewards.shape(0) * rewards.shape(1));
            std::vector<std::int64_t> policy(rewards.shape(0));
            without_gil([&] { agents::action_values(process, discount, values.data(), q.data(), policy.data(), threads); });
            return nb::make_tuple(own(std::move(q), rewards.shape(0), rewards.shape(1)), own(std::move(policy)));
        },
        "starts"_a, "next"_a, "chance"_a, "rewards"_a, "values"_a, "discount"_a, "threads"_a,
        "Values of actions given values of states, and the greedy actions.");
    bind_learning(m);
}

}  // namespace assay::bindings
