#include "search.hpp"

namespace assay::rules {
namespace {

struct State {
    std::vector<Condition> conditions;
    Bits cover;  // rows of the sample that pass
    double score = 0, p = 0, n = 0;
};

// Twice the log likelihood ratio of the class shares under a rule against those of all rows.
double likelihood_ratio(double p, double n, double P, double N) {
    const double all = p + n, share = P / (P + N);
    double sum = 0;
    if (p > 0) sum += p * std::log(p / (all * share));
    if (n > 0) sum += n * std::log(n / (all * (1 - share)));
    return 2 * sum;
}

class Coverer {
public:
    Coverer(Table& table, const CoverOptions& options) : table_(table), options_(options) {}

    // The rule of best quality on the sample by beam search; no tests if none is better than no rule.
    State best_rule(const Sample& sample, const Bits& positive) {
        const double P = weight_of(sample.rows, positive, sample.weight());
        const double N = weight_of(sample.rows, without(sample.rows, positive), sample.weight());
        State best;
        if (!(P > 0) || !(N > 0)) return best;
        // Gain by FOIL's measure is over the rule so far: such a search ends where no test gains, and the ends compete.
        const bool stepwise = options_.quality == Quality::foil;
        const Measure whole(stepwise ? Quality::laplace : options_.quality, P, N);
        std::vector<State> beam(1);
        beam[0].cover = sample.rows;
        beam[0].p = P;
        beam[0].n = N;
        best.score = whole.value(P, N);
        const auto compete = [&](const State& state, double score) {
            if (score <= best.score || likelihood_ratio(state.p, state.n, P, N) < options_.significance) return;
            best.conditions = state.conditions;
            best.score = score;
            best.p = state.p;
            best.n = state.n;
        };
        std::vector<std::array<Candidate, 4>> found;
        for (int length = 1; !beam.empty() && (options_.max_conditions == 0 || length <= options_.max_conditions); ++length) {
            if (interrupted()) return best;
            std::vector<State> next;
            for (const State& state : beam) {
                bool grew = false;
                if (state.n > 0) {
                    const Measure here = stepwise ? Measure(Quality::foil, state.p, state.n) : whole;
                    table_.search(state.cover, positive, sample.weight(), here, options_.min_positive,
                                  options_.beam_width == 1, found);
                    for (const auto& of_column : found)
                        for (const auto& candidate : of_column)
                            if (candidate.found) {
                                grew = true;
                                offer(next, state, candidate);
                            }
                }
                if (stepwise && !grew && !state.conditions.empty()) compete(state, whole.value(state.p, state.n));
            }
            const bool last = length == options_.max_conditions;
            for (State& state : next) {
                state.cover = table_.passing(state.conditions.back(), state.cover);
                if (!stepwise) compete(state, state.score);
                if (stepwise && last) compete(state, whole.value(state.p, state.n));
            }
            beam = std::move(next);
        }
        return best;
    }

private:
    // Keeps the best states in order; of states with the same counts only the first stays.
    void offer(std::vector<State>& next, const State& from, const Candidate& candidate) {
        const auto width = static_cast<std::size_t>(options_.beam_width);
        if (next.size() == width && candidate.score <= next.back().score) return;
        std::size_t place = next.size();
        while (place > 0 && next[place - 1].score < candidate.score) --place;
        for (std::size_t i = 0; i < place; ++i)
            if (next[i].score == candidate.score && next[i].p == candidate.p && next[i].n == candidate.n) return;
        State state{from.conditions, from.cover, candidate.score, candidate.p, candidate.n};
        state.conditions.push_back(candidate.condition);
        next.insert(next.begin() + static_cast<std::ptrdiff_t>(place), std::move(state));
        if (next.size() > width) next.pop_back();
    }

    Table& table_;
    const CoverOptions& options_;
};

}  // namespace

RuleList sequential_covering(const Columns& columns, const Target& target, const CoverOptions& options) {
    RuleList list;
    Table table(columns, options.threads);
    const RowWeights row_weights(table, target);
    const double* weights = row_weights.data();
    const Bits all = all_rows(table);
    Bits left = all;
    Coverer coverer(table, options);
    const int searched = options.ordered ? target.n_classes - 1 : target.n_classes;
    for (int k = 0; k < searched && !interrupted(); ++k) {
        const std::int32_t rule_class = target.order[k];
        const Bits positive = rows_of_class(table, target, rule_class);
        // Unordered rules of a class are found against every row of the other classes.
        Bits universe = options.ordered ? left : all;
        std::uint64_t drawn = 0;
        for (int found = 0; options.max_rules == 0 || found < options.max_rules; ++found) {
            if (interrupted() || !any(both(universe, positive))) break;
            Split part;
            if (options.prune) {
                const std::uint64_t stream = (static_cast<std::uint64_t>(rule_class) << 40) ^ drawn++;
                part = split_rows(universe, positive, weights, row_weights.whole, options.folds, mix(options.key ^ mix(stream)));
            } else {
                part.grow.rows = universe;
                part.grow.weights = row_weights.padded;
            }
            const State best = coverer.best_rule(part.grow, positive);
            if (best.conditions.empty()) break;
            Rule rule;
            for (const auto& condition : best.conditions) rule.add(table, condition, all);
            if (options.prune) prune_rule(rule, part.prune, positive);
            const Bits taken = both(rule.cover(), universe), right = both(taken, positive);
            const double p = weight_of(right, right, weights), covered = weight_of(taken, taken, weights);
            const double P = weight_of(universe, positive, weights), total = weight_of(universe, universe, weights);
            // Pruned to nothing better than no rule.
            if (!(p > 0) || !(p / covered > P / total)) break;
            append(list, rule_class, rule.conditions);
            list.event_class.push_back(rule_class);
            list.event.push_back(0);
            list.event_tests.push_back(static_cast<std::int32_t>(rule.conditions.size()));
            list.event_value.push_back(best.score);
            remove_from(universe, options.ordered ? taken : right);
        }
        if (options.ordered) left = universe;
    }
    return list;
}

}  // namespace assay::rules
