// Agents: planning in a known Markov decision process.
#include "assay/agents/mdp.hpp"
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
}

}  // namespace assay::bindings
