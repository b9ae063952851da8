#include <limits>

#include "search.hpp"

namespace assay::rules {
namespace {

constexpr double surplus_bits = 64;

double log2_positive(double x) { return x > 0 ? std::log2(x) : 0.0; }

// Bits to name `chosen` of `total` things when each is expected to be chosen with probability p.
double subset_bits(double total, double chosen, double p) {
    if (!(total > 0)) return 0;
    double bits = 0;
    if (chosen > 0) bits -= chosen * (p > 0 ? std::log2(p) : -1074.0);
    if (total > chosen) bits -= (total - chosen) * (p < 1 ? std::log2(1 - p) : -1074.0);
    return bits;
}

class Learner {
public:
    Learner(Table& table, const RipperOptions& options, const double* weights, bool whole, RuleList& list)
        : table_(table), options_(options), weights_(weights), whole_(whole), list_(list) {}

    // Rules for the rows `positive` among `universe`.
    std::vector<Rule> learn(const Bits& universe, const Bits& positive, int rule_class) {
        universe_ = &universe;
        positive_ = &positive;
        class_ = rule_class;
        total_ = weight_of(universe, universe, weights_);
        total_positive_ = weight_of(universe, positive, weights_);
        stage_ = 0;
        std::vector<Rule> rules;
        add_rules(rules, universe);
        delete_rules(rules);
        for (int pass = 0; pass < options_.optimisations && !rules.empty() && !interrupted(); ++pass) {
            ++stage_;
            optimise(rules);
            Bits left = universe;
            for (const auto& rule : rules) remove_from(left, rule.cover());
            add_rules(rules, left);
            delete_rules(rules);
        }
        return rules;
    }

private:
    Split split(const Bits& rows) {
        const std::uint64_t stream = (static_cast<std::uint64_t>(class_) << 40) ^ (static_cast<std::uint64_t>(stage_) << 32);
        const std::uint64_t key = mix(options_.key ^ mix(stream ^ drawn_++));
        if (!options_.prune) {
            Split all{{rows, {}}, {rows, {}}};
            if (weights_ != nullptr) {
                all.grow.weights.assign(weights_, weights_ + table_.rows());
                all.prune.weights = all.grow.weights;
            }
            return all;
        }
        return split_rows(rows, *positive_, weights_, whole_, options_.folds, key);
    }

    double theory_bits(const Rule& rule) const {
        const double k = static_cast<double>(rule.conditions.size()), m = table_.possible_tests();
        if (k == 0) return 0;
        double bits = log2_positive(k);
        bits += 2 * log2_positive(bits);
        const double share = std::min(k / m, 1.0);
        return 0.5 * (bits + subset_bits(std::max(m, k), k, share));
    }

    double exception_bits(const Bits& cover) const {
        const double covered = weight_of(cover, cover, weights_), right = weight_of(cover, *positive_, weights_);
        const double open = total_ - covered, false_positive = covered - right, false_negative = total_positive_ - right;
        // Of the errors, false positives are expected as often as the class is; the larger part is coded against that.
        const double share = total_positive_ / total_, errors = false_positive + false_negative;
        double bits = log2_positive(total_ + 1);
        if (covered > open) {
            bits += subset_bits(covered, false_positive, std::min(share * errors / covered, 1.0));
            bits += subset_bits(open, false_negative, false_negative / open);
        } else {
            bits += subset_bits(covered, false_positive, false_positive / covered);
            bits += subset_bits(open, false_negative, std::min((1 - share) * errors / open, 1.0));
        }
        return bits;
    }

    // Description length of the set, with rule `skip` left out or replaced.
    double description(const std::vector<Rule>& rules, std::size_t skip, const Rule* instead = nullptr) const {
        Bits cover(table_.words(), 0);
        double bits = 0;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const Rule* rule = i == skip ? instead : &rules[i];
            if (rule == nullptr) continue;
            join(cover, rule->cover());
            bits += theory_bits(*rule);
        }
        return bits + exception_bits(cover);
    }
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    void record(int event, const Rule& rule, double value) {
        list_.event_class.push_back(class_);
        list_.event.push_back(event);
        list_.event_tests.push_back(static_cast<std::int32_t>(rule.conditions.size()));
        list_.event_value.push_back(value);
    }

    void add_rules(std::vector<Rule>& rules, const Bits& open) {
        Bits left = open;
        double least = description(rules, none);
        while (!interrupted() && any(both(left, *positive_))) {
            const Split part = split(left);
            Rule rule;
            grow_rule(table_, rule, *universe_, part.grow, *positive_, options_.min_positive, options_.max_conditions);
            if (rule.empty()) return;
            if (options_.prune) prune_rule(rule, part.prune, *positive_);
            const Bits taken = both(rule.cover(), left);
            const double covered = weight_of(taken, taken, weights_), right = weight_of(taken, *positive_, weights_);
            // A rule that takes no positive would leave the loop where it was.
            if (!(right > 0) || (options_.check_error && covered - right >= right)) return;
            rules.push_back(std::move(rule));
            const double bits = description(rules, none);
            if (bits > least + surplus_bits) {
                record(1, rules.back(), bits);
                rules.pop_back();
                return;
            }
            record(0, rules.back(), bits);
            least = std::min(least, bits);
            remove_from(left, rules.back().cover());
        }
    }

    void delete_rules(std::vector<Rule>& rules) {
        double bits = description(rules, none);
        for (std::size_t i = rules.size(); i-- > 0;) {
            const double fewer = description(rules, i);
            if (fewer <= bits) {
                record(2, rules[i], fewer);
                rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(i));
                bits = fewer;
            }
        }
    }

    // Cuts final tests where that does not raise the error of the whole set on the pruning rows.
    void prune_in_set(Rule& rule, const Sample& sample, const Bits& later) const {
        std::size_t best = rule.conditions.size();
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t length = rule.conditions.size(); length > 0; --length) {
            Bits cover = rule.prefix[length - 1];
            join(cover, later);
            const Bits said = both(cover, sample.rows), missed = without(sample.rows, cover);
            const double error = weight_of(said, said, sample.weight()) - weight_of(said, *positive_, sample.weight()) +
                                 weight_of(missed, *positive_, sample.weight());
            if (error <= least) {
                least = error;
                best = length;
            }
        }
        rule.shorten(best);
    }

    void optimise(std::vector<Rule>& rules) {
        Bits left = *universe_;
        for (std::size_t i = 0; i < rules.size() && !interrupted(); ++i) {
            Bits later(table_.words(), 0);
            for (std::size_t k = i + 1; k < rules.size(); ++k) join(later, rules[k].cover());
            const Split part = split(left);
            Rule replacement, revision = rules[i];
            for (Rule* variant : {&replacement, &revision}) {
                grow_rule(table_, *variant, *universe_, part.grow, *positive_, options_.min_positive,
                          options_.max_conditions);
                if (options_.prune && !variant->empty()) prune_in_set(*variant, part.prune, later);
            }
            double least = description(rules, none);
            const Rule* chosen = nullptr;
            int event = 0;
            for (const Rule* variant : {&replacement, &revision}) {
                if (variant->empty()) continue;
                const double bits = description(rules, i, variant);
                if (bits < least) {
                    least = bits;
                    chosen = variant;
                    event = variant == &replacement ? 3 : 4;
                }
            }
            if (chosen != nullptr) {
                rules[i] = *chosen;
                record(event, rules[i], least);
            }
            remove_from(left, rules[i].cover());
        }
    }

    Table& table_;
    const RipperOptions& options_;
    const double* weights_;
    bool whole_;
    RuleList& list_;
    const Bits* universe_ = nullptr;
    const Bits* positive_ = nullptr;
    double total_ = 0, total_positive_ = 0;
    int class_ = 0, stage_ = 0;
    std::uint64_t drawn_ = 0;
};

}  // namespace

RuleList ripper(const Columns& columns, const Target& target, const RipperOptions& options) {
    RuleList list;
    Table table(columns, options.threads);
    const RowWeights weights(table, target);
    Bits left = all_rows(table);
    Learner learner(table, options, weights.data(), weights.whole, list);
    for (int k = 0; k + 1 < target.n_classes && !interrupted(); ++k) {
        const std::int32_t rule_class = target.order[k];
        const Bits positive = both(rows_of_class(table, target, rule_class), left);
        for (const Rule& rule : learner.learn(left, positive, rule_class)) {
            append(list, rule_class, rule.conditions);
            remove_from(left, rule.cover());
        }
    }
    return list;
}

}  // namespace assay::rules
