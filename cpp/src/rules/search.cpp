#include "search.hpp"

namespace assay::rules {

// SplitMix64: a bijection that spreads every bit.
std::uint64_t mix(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15ULL;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

Split split_rows(const Bits& rows, const Bits& positive, const double* weights, bool whole, int folds, std::uint64_t key) {
    Split split{{Bits(rows.size(), 0), {}}, {Bits(rows.size(), 0), {}}};
    if (weights != nullptr) {
        split.grow.weights.assign(rows.size() * 64, 0.0);
        split.prune.weights.assign(rows.size() * 64, 0.0);
    }
    const auto block = static_cast<std::uint64_t>(folds);
    // The unit of each block that prunes.
    const auto drawn = [&](std::uint64_t side, std::uint64_t number) { return mix(key ^ mix(2 * number + side)) % block; };
    std::array<std::uint64_t, 2> position{0, 0};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::uint64_t word = rows[i]; word != 0; word &= word - 1) {
            const std::size_t row = i * 64 + static_cast<std::size_t>(std::countr_zero(word));
            const std::size_t side = holds(positive, static_cast<std::uint32_t>(row)) ? 1 : 0;
            const std::uint64_t from = position[side];
            const std::uint64_t units = weights != nullptr && whole ? static_cast<std::uint64_t>(weights[row]) : 1;
            const std::uint64_t to = position[side] = from + units;
            std::uint64_t pruning = 0;
            const std::uint64_t first = from / block, last = (to - 1) / block;
            // Blocks that lie inside the row give one unit each; the two at its ends are looked up.
            if (last > first + 1) pruning += last - first - 1;
            for (const std::uint64_t number : {first, last}) {
                const std::uint64_t unit = number * block + drawn(side, number);
                if (unit >= from && unit < to) ++pruning;
                if (first == last) break;
            }
            if (weights == nullptr) {
                put(pruning > 0 ? split.prune.rows : split.grow.rows, static_cast<index_t>(row));
                continue;
            }
            const double part = whole ? static_cast<double>(pruning) : (pruning > 0 ? weights[row] : 0.0);
            split.prune.weights[row] = part;
            split.grow.weights[row] = weights[row] - part;
            if (part > 0) put(split.prune.rows, static_cast<index_t>(row));
            if (weights[row] - part > 0) put(split.grow.rows, static_cast<index_t>(row));
        }
    }
    return split;
}

void append(RuleList& list, int rule_class, const std::vector<Condition>& conditions) {
    list.rule_class.push_back(rule_class);
    for (const auto& condition : conditions) {
        list.column.push_back(condition.column);
        list.test.push_back(static_cast<std::uint8_t>(condition.test));
        list.code.push_back(condition.code);
    }
    list.first.push_back(static_cast<std::int64_t>(list.column.size()));
}

void grow_rule(Table& table, Rule& rule, const Bits& universe, const Sample& sample, const Bits& positive,
               double min_positive, int max_conditions) {
    std::vector<std::array<Candidate, 4>> found;
    Bits cover = rule.empty() ? sample.rows : both(sample.rows, rule.cover());
    while ((max_conditions == 0 || rule.conditions.size() < static_cast<std::size_t>(max_conditions)) && !interrupted()) {
        const double P = weight_of(cover, positive, sample.weight());
        const double N = weight_of(cover, without(cover, positive), sample.weight());
        if (!(P > 0) || !(N > 0)) return;
        table.search(cover, positive, sample.weight(), Measure(Quality::foil, P, N), min_positive, true, found);
        const Candidate* best = nullptr;
        for (const auto& of_column : found)
            for (const auto& candidate : of_column)
                if (candidate.found && (best == nullptr || candidate.score > best->score)) best = &candidate;
        if (best == nullptr) return;
        rule.add(table, best->condition, universe);
        cover = both(cover, rule.cover());
    }
}

void prune_rule(Rule& rule, const Sample& sample, const Bits& positive) {
    std::size_t best = rule.conditions.size();
    double best_value = -1;
    for (std::size_t length = rule.conditions.size(); length > 0; --length) {
        const Bits held = both(rule.prefix[length - 1], sample.rows);
        const double p = weight_of(held, positive, sample.weight());
        const double all = weight_of(held, held, sample.weight());
        const double value = (p + 1) / (all + 2);
        if (value >= best_value) {
            best_value = value;
            best = length;
        }
    }
    rule.shorten(best);
}

}  // namespace assay::rules
