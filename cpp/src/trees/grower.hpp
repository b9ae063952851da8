// Grows one subtree on a store: sorted entries of the columns in play for a set of rows. The same code serves the whole
// table (wide entries, columns in parallel) and one task (narrow entries, one thread).
#pragma once

#include <memory>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/cart.hpp"
#include "oblique_direction.hpp"
#include "split_scan.hpp"

namespace assay::trees {

using tables::CodedColumns;

// What the whole growth shares.
struct Growth {
    const CodedColumns& columns;
    Vector<const std::int32_t> rows;
    const CartOptions& options;
    index_t width = 1;        // numbers kept per node
    double total_weight = 0;  // of the training rows
    std::vector<std::uint8_t> distinct{};  // by column: no two training rows share a value, so that every entry is fresh

    double value(index_t column, index_t position) const { return columns.value(rows[position], column); }
    std::int32_t category(index_t column, index_t position) const { return columns.category(rows[position], column); }
    bool nominal(index_t column) const { return columns.nominal(column); }
};

// Nodes in the order in which they were made; children are indices into the same list, or -1.
struct NodeList {
    std::vector<std::int32_t> feature, left, right;
    std::vector<double> threshold, impurity, rows, weight, value, gains;
    std::vector<std::int64_t> categories;
    std::vector<std::uint64_t> words;
    std::vector<std::uint8_t> missing_left;
    std::vector<std::int32_t> linear;
    std::vector<double> linear_weight, linear_fill, linear_share;
    std::vector<std::vector<double>> tried;  // with trace: for each linear test, its gain, threshold and weights

    std::int32_t add(const Summary& summary, const std::vector<double>& values, index_t traced_columns) {
        feature.push_back(-1);
        left.push_back(-1);
        right.push_back(-1);
        threshold.push_back(0);
        categories.push_back(-1);
        missing_left.push_back(0);
        linear.push_back(-1);
        impurity.push_back(summary.impurity);
        rows.push_back(summary.rows);
        weight.push_back(summary.weight);
        value.insert(value.end(), values.begin(), values.end());
        gains.resize(gains.size() + static_cast<std::size_t>(traced_columns), std::numeric_limits<double>::quiet_NaN());
        if (traced_columns > 0) tried.emplace_back();
        return static_cast<std::int32_t>(feature.size() - 1);
    }
};

// A node whose split is still to be sought: its segment, and the columns that are not constant in its parent.
struct Pending {
    index_t begin = 0, end = 0, depth = 0;
    std::int32_t node = -1;
    std::uint64_t path = 1;
    Summary summary;
    std::vector<std::int32_t> active;
    index_t size() const { return end - begin; }
};

struct Split {
    Candidate candidate;
    std::int32_t feature = -1;
    std::vector<std::uint8_t> goes_left;  // nominal: for each category present, in order of code
    std::vector<double> weight, fill, share;  // linear: for each numeric column; `feature` is the leading one
    std::vector<std::int32_t> order;          // linear: the rows of the node by rising sum
    double threshold = 0;
    bool linear() const { return !order.empty(); }
    bool found() const { return feature >= 0; }
};

template <class Policy, class Entry>
class Grower {
public:
    // `given` are the entries of all columns, which the grower uses up; without them it makes room for its own.
    Grower(const Growth& growth, const Samples& data, index_t n, std::vector<std::int32_t> columns, NodeList& nodes,
           int threads, Entry* given = nullptr)
        : growth_(growth), data_(data), n_(n), nodes_(nodes), threads_(threads),
          slot_(static_cast<std::size_t>(growth.columns.n_columns()), -1), side_(static_cast<std::size_t>(n)),
          scratch_(static_cast<std::size_t>(threads)) {
        for (std::size_t s = 0; s < columns.size(); ++s) slot_[static_cast<std::size_t>(columns[s])] = static_cast<index_t>(s);
        if (given == nullptr) own_ = std::make_unique_for_overwrite<Entry[]>(columns.size() * static_cast<std::size_t>(n));
        entries_ = given == nullptr ? own_.get() : given;
        sides_.resize(static_cast<std::size_t>(n));
    }

    Entry* column(index_t feature) { return entries_ + slot_[static_cast<std::size_t>(feature)] * n_; }
    // Positions of the store's rows among the training rows; empty if they are the same.
    std::vector<std::int32_t> positions;

    Pending root(const std::vector<std::int32_t>& active) {
        Pending node;
        node.end = n_;
        node.active = active;
        std::iota(sides_.begin(), sides_.end(), 0);
        std::vector<double> value(static_cast<std::size_t>(growth_.width));
        node.summary = Policy::summarise(data_, sides_.data(), n_, value.data(), scratch_[0].sorted);
        node.node = nodes_.add(node.summary, value, traced());
        return node;
    }

    bool is_leaf(const Pending& node) const {
        const CartOptions& o = growth_.options;
        return node.summary.pure || (o.max_depth >= 0 && node.depth >= o.max_depth) ||
               node.summary.repeats < o.min_split || node.summary.repeats < 2 * o.min_leaf ||
               node.summary.weight < 2 * o.min_weight_leaf || node.size() < 2;
    }

    // The best split of a node; drops columns that are constant in it from `node.active`.
    Split find(Pending& node) {
        std::erase_if(node.active, [&](std::int32_t f) { return !varies(column(f) + node.begin, node.size()); });
        NodeTotals totals;
        totals.value = nodes_.value.data() + static_cast<index_t>(node.node) * growth_.width;
        totals.weight = node.summary.weight;
        totals.repeats = node.summary.repeats;
        totals.min_leaf = growth_.options.min_leaf;
        totals.min_weight_leaf = growth_.options.min_weight_leaf;
        const index_t wanted = growth_.options.max_features;
        if (wanted <= 0 || wanted >= growth_.columns.n_columns()) {
            Split split = best_of(node, totals, node.active);
            try_linear(node, totals, node.active, split);
            return split;
        }
        std::vector<std::int32_t> order = node.active;
        Random random(growth_.options.key, node.path);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
        const std::size_t first = std::min(order.size(), static_cast<std::size_t>(wanted));
        std::vector<std::int32_t> drawn(order.begin(), order.begin() + static_cast<index_t>(first));
        std::sort(drawn.begin(), drawn.end());
        Split split = best_of(node, totals, drawn);
        try_linear(node, totals, drawn, split);
        for (std::size_t i = first; i < order.size() && !split.found(); ++i) split = best_of(node, totals, {order[i]});
        return split;
    }

    // Splits a node: makes its children in the node list and sorts the rows to them. False if the decrease of impurity is
    // too small, or (with `best_first`) nothing but the decrease is asked for.
    bool measure(const Pending& node, const Split& split, double& decrease) {
        send_rows(node, split);
        left_value_.resize(static_cast<std::size_t>(growth_.width));
        right_value_.resize(static_cast<std::size_t>(growth_.width));
        auto& sorted = scratch_[0].sorted;
        left_ = Policy::summarise(data_, sides_.data(), n_left_, left_value_.data(), sorted);
        right_ = Policy::summarise(data_, sides_.data() + n_left_, n_right_, right_value_.data(), sorted);
        if constexpr (is_second_order<Policy>) {
            decrease = node.summary.cost - left_.cost - right_.cost;
            const double rounding = 4 * std::numeric_limits<double>::epsilon() * std::abs(left_.cost + right_.cost);
            return decrease > rounding && decrease + rounding >= growth_.options.min_decrease;
        }
        decrease = (node.summary.weight * node.summary.impurity - left_.weight * left_.impurity -
                    right_.weight * right_.impurity) / growth_.total_weight;
        return decrease + std::numeric_limits<double>::epsilon() >= growth_.options.min_decrease;
    }

    std::pair<Pending, Pending> split(Pending& node, const Split& split) {
        Pending left, right;
        left.summary = left_;
        right.summary = right_;
        left.depth = right.depth = node.depth + 1;
        left.path = path_below(node.path, 0);
        right.path = path_below(node.path, 1);
        left.begin = node.begin;
        left.end = node.begin + n_left_;
        right.begin = node.begin + n_left_;
        right.end = node.end;
        write_test(node, split);
        const auto at = static_cast<std::size_t>(node.node);
        nodes_.left[at] = left.node = nodes_.add(left_, left_value_, traced());
        nodes_.right[at] = right.node = nodes_.add(right_, right_value_, traced());
        const bool left_goes_on = !is_leaf(left), right_goes_on = !is_leaf(right);
        if (left_goes_on) left.active = node.active;
        if (right_goes_on) right.active = std::move(node.active);
        if (left_goes_on || right_goes_on)
            partition(left_goes_on ? left.active : right.active, node, right_goes_on);
        return {std::move(left), std::move(right)};
    }

    // Depth first until nothing is left; for tasks.
    void grow(Pending first) {
        std::vector<Pending> stack;
        stack.push_back(std::move(first));
        while (!stack.empty() && !interrupted()) {
            Pending node = std::move(stack.back());
            stack.pop_back();
            if (is_leaf(node)) continue;
            const Split best = find(node);
            double decrease;
            if (!best.found() || !measure(node, best, decrease)) continue;
            auto [left, right] = split(node, best);
            if (!is_leaf(right)) stack.push_back(std::move(right));
            if (!is_leaf(left)) stack.push_back(std::move(left));
        }
    }

    static std::uint64_t path_below(std::uint64_t path, std::uint64_t side) {
        std::uint64_t z = path * 2 + side + 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

private:
    struct Run {
        index_t begin, end;
        double key;
    };
    struct Scratch {
        Scanner<Policy> scanner;
        std::vector<Entry> entries;
        std::vector<Run> runs;
        std::vector<std::int32_t> order, rows;
        std::vector<double> counts, subset, rest, direction;
        std::vector<std::uint8_t> goes_left;
        std::vector<std::pair<double, double>> sorted;
    };

    index_t traced() const { return growth_.options.trace ? growth_.columns.n_columns() : 0; }

    // -- the search ----------------------------------------------------------------------------------------------
    Split best_of(const Pending& node, const NodeTotals& totals, const std::vector<std::int32_t>& features) {
        Split best;
        if (threads_ <= 1 || node.size() < 2048) {
            for (const std::int32_t f : features) take(node, totals, f, scratch_[0], best);
            return best;
        }
        std::vector<Split> found(features.size());
        parallel_chunks(static_cast<index_t>(features.size()), 1, threads_, [&](index_t c, index_t, index_t) {
            take(node, totals, features[static_cast<std::size_t>(c)],
                 scratch_[static_cast<std::size_t>(thread_number())], found[static_cast<std::size_t>(c)]);
        });
        for (Split& one : found)
            if (one.found() && one.candidate.better_than(best.candidate)) best = std::move(one);
        return best;
    }

    void take(const Pending& node, const NodeTotals& totals, std::int32_t f, Scratch& scratch, Split& best) {
        const Entry* segment = column(f) + node.begin;
        Candidate candidate;
        if (growth_.nominal(f)) {
            candidate = scan_nominal(totals, segment, node.size(), scratch);
        } else {
            candidate = scratch.scanner.scan(data_, totals, segment, node.size(), best.candidate);
        }
        if (growth_.options.trace && candidate.cost < infinity) {
            nodes_.gains[static_cast<std::size_t>(node.node * growth_.columns.n_columns() + f)] =
                gain(node, totals, candidate.cost);
        }
        if (!candidate.better_than(best.candidate)) return;
        best.candidate = candidate;
        best.feature = f;
        if (growth_.nominal(f)) best.goes_left = scratch.goes_left;
    }

    // The decrease of impurity within the node that a cost stands for.
    double gain(const Pending& node, const NodeTotals& totals, double cost) const {
        if constexpr (std::is_same_v<Policy, WorstCase>) return node.summary.impurity - cost;
        if constexpr (is_second_order<Policy>) return node.summary.cost - 0.5 * cost;
        if constexpr (Policy::is_ratio) {
            double squares = 0;
            const index_t parts = Policy::classifies ? data_.n_classes : data_.outputs;
            for (index_t k = 0; k < parts; ++k) squares += totals.value[k] * totals.value[k];
            const double outputs = Policy::classifies ? 1.0 : static_cast<double>(data_.outputs);
            return (-squares / totals.weight - cost) / (totals.weight * outputs);
        }
        return node.summary.impurity - cost / totals.weight;
    }

    // Splits of a nominal column: prefixes of orders of its categories, or every set of them.
    Candidate scan_nominal(const NodeTotals& totals, const Entry* segment, index_t n, Scratch& s) {
        const index_t missing = count_missing(segment, n), present = n - missing;
        s.runs.clear();
        for (index_t i = 0; i < present; ++i) {
            if (i == 0 || is_fresh(segment[i])) s.runs.push_back({i, i, 0});
            ++s.runs.back().end;
        }
        Candidate best;
        const index_t q = static_cast<index_t>(s.runs.size());
        if constexpr (Policy::classifies) {
            count_classes(segment, n, s);
            const index_t k = data_.n_classes;
            if (k > 2 && q <= exhaustive_categories) return try_all_sets(totals, s, segment, present, missing);
            if (k == 2) {
                order_by_direction(s, {0.0, 1.0});
                try_order(totals, segment, n, present, s, best);
                return best;
            }
            order_by_direction(s, principal_direction(s));
            try_order(totals, segment, n, present, s, best);
            for (index_t c = 0; c < std::min<index_t>(k, 8); ++c) {
                std::vector<double> one(static_cast<std::size_t>(k), 0.0);
                one[static_cast<std::size_t>(c)] = 1;
                order_by_direction(s, one);
                try_order(totals, segment, n, present, s, best);
            }
        } else {
            std::vector<double> value(static_cast<std::size_t>(growth_.width));
            for (index_t o = 0; o < data_.outputs; ++o) {
                for (Run& run : s.runs) {
                    s.rows.clear();
                    for (index_t i = run.begin; i < run.end; ++i)
                        s.rows.push_back(static_cast<std::int32_t>(row_of(segment[i])));
                    const Summary part = Policy::summarise(data_, s.rows.data(), run.end - run.begin, value.data(), s.sorted);
                    if constexpr (is_second_order<Policy>) {
                        run.key = SecondOrder::order_key(value[0], part.weight);
                    } else {
                        run.key = value[static_cast<std::size_t>(o)] / (Policy::is_ratio ? part.weight : 1.0);
                    }
                }
                order_by_key(s);
                try_order(totals, segment, n, present, s, best);
            }
        }
        return best;
    }

    // Class weights of each category present, then of the missing cells.
    void count_classes(const Entry* segment, index_t n, Scratch& s) const {
        const index_t k = data_.n_classes;
        s.counts.assign((s.runs.size() + 1) * static_cast<std::size_t>(k), 0.0);
        std::size_t r = 0;
        for (index_t i = 0; i < n; ++i) {
            while (r < s.runs.size() && i >= s.runs[r].end) ++r;
            const index_t row = row_of(segment[i]);
            s.counts[r * static_cast<std::size_t>(k) + static_cast<std::size_t>(data_.label[row])] += data_.weight_of(row);
        }
    }

    void order_by_direction(Scratch& s, const std::vector<double>& direction) const {
        const auto k = direction.size();
        for (std::size_t r = 0; r < s.runs.size(); ++r) {
            double along = 0, weight = 0;
            for (std::size_t c = 0; c < k; ++c) {
                along += s.counts[r * k + c] * direction[c];
                weight += s.counts[r * k + c];
            }
            s.runs[r].key = along / weight;
        }
        order_by_key(s);
    }

    static void order_by_key(Scratch& s) {
        s.order.resize(s.runs.size());
        std::iota(s.order.begin(), s.order.end(), 0);
        std::stable_sort(s.order.begin(), s.order.end(), [&](std::int32_t a, std::int32_t b) {
            return s.runs[static_cast<std::size_t>(a)].key < s.runs[static_cast<std::size_t>(b)].key;
        });
    }

    // First principal direction of the weighted class shares of the categories, by a few power iterations.
    std::vector<double> principal_direction(Scratch& s) const {
        const auto k = static_cast<std::size_t>(data_.n_classes), q = s.runs.size();
        std::vector<double> mean(k, 0.0), gaps(q * k), weights(q, 0.0), v(k, 0.0), next(k);
        double total = 0;
        for (std::size_t r = 0; r < q; ++r) {
            for (std::size_t c = 0; c < k; ++c) {
                weights[r] += s.counts[r * k + c];
                mean[c] += s.counts[r * k + c];
            }
            total += weights[r];
        }
        double farthest = -1;
        for (std::size_t r = 0; r < q; ++r) {
            double length = 0;
            for (std::size_t c = 0; c < k; ++c) {
                gaps[r * k + c] = s.counts[r * k + c] / weights[r] - mean[c] / total;
                length += gaps[r * k + c] * gaps[r * k + c];
            }
            if (weights[r] * length > farthest) {
                farthest = weights[r] * length;
                std::copy_n(gaps.begin() + static_cast<index_t>(r * k), k, v.begin());
            }
        }
        for (int step = 0; step < 16; ++step) {
            std::fill(next.begin(), next.end(), 0.0);
            for (std::size_t r = 0; r < q; ++r) {
                double along = 0;
                for (std::size_t c = 0; c < k; ++c) along += gaps[r * k + c] * v[c];
                for (std::size_t c = 0; c < k; ++c) next[c] += weights[r] * along * gaps[r * k + c];
            }
            double norm = 0;
            for (const double x : next) norm += x * x;
            if (!(norm > 0)) break;
            for (std::size_t c = 0; c < k; ++c) v[c] = next[c] / std::sqrt(norm);
        }
        return v;
    }

    // Scans the segment with its categories in `s.order`; keeps the set in `s.goes_left` if it is the best so far.
    void try_order(const NodeTotals& totals, const Entry* segment, index_t n, index_t present, Scratch& s,
                   Candidate& best) {
        s.entries.clear();
        for (std::size_t p = 0; p < s.order.size(); ++p) {
            const Run& run = s.runs[static_cast<std::size_t>(s.order[p])];
            s.entries.push_back(static_cast<Entry>(row_of(segment[run.begin])) | fresh_bit<Entry>);
            for (index_t i = run.begin + 1; i < run.end; ++i)
                s.entries.push_back(static_cast<Entry>(row_of(segment[i])));
        }
        s.entries.insert(s.entries.end(), segment + present, segment + n);
        const Candidate found = s.scanner.scan(data_, totals, s.entries.data(), n, best);
        if (!found.better_than(best)) return;
        best = found;
        s.goes_left.assign(s.runs.size(), 0);
        index_t sent = 0;
        for (std::size_t p = 0; sent < found.position; ++p) {
            const auto r = static_cast<std::size_t>(s.order[p]);
            s.goes_left[r] = 1;
            sent += s.runs[r].end - s.runs[r].begin;
        }
    }

    // Every set of categories that holds the last one on the right; missing cells on the right, then on the left.
    Candidate try_all_sets(const NodeTotals& totals, Scratch& s, const Entry* segment, index_t present, index_t missing) {
        Candidate best;
        if constexpr (Policy::classifies) {
            const auto k = static_cast<std::size_t>(data_.n_classes), q = s.runs.size();
            std::vector<double> repeats(q + 1, 0.0);
            for (std::size_t r = 0; r <= q; ++r) {
                const index_t from = r < q ? s.runs[r].begin : present, to = r < q ? s.runs[r].end : present + missing;
                for (index_t i = from; i < to; ++i) repeats[r] += data_.repeat_of(row_of(segment[i]));
            }
            for (int missing_left = 0; missing_left <= (missing > 0 ? 1 : 0); ++missing_left) {
                const std::uint32_t sets = 1U << (q - 1);
                const bool all_present_left = missing > 0 && missing_left == 0;
                for (std::uint32_t set = 1; set <= sets; ++set) {
                    const std::uint32_t members = set < sets ? set : (1U << q) - 1;
                    if (set == sets && !all_present_left) continue;
                    s.subset.assign(k, 0.0);
                    double left_repeats = 0, left_weight = 0;
                    for (std::size_t r = 0; r <= q; ++r) {
                        if (r < q ? (members >> r & 1U) == 0 : missing_left == 0) continue;
                        left_repeats += repeats[r];
                        for (std::size_t c = 0; c < k; ++c) s.subset[c] += s.counts[r * k + c];
                    }
                    s.rest.assign(totals.value, totals.value + k);
                    for (std::size_t c = 0; c < k; ++c) {
                        s.rest[c] -= s.subset[c];
                        left_weight += s.subset[c];
                    }
                    const double right_weight = totals.weight - left_weight;
                    if (left_repeats < totals.min_leaf || totals.repeats - left_repeats < totals.min_leaf ||
                        left_weight < totals.min_weight_leaf || right_weight < totals.min_weight_leaf)
                        continue;
                    Candidate here = Scanner<Policy>::template join<Policy>(
                        Policy::counts_cost(data_, s.subset.data(), data_.n_classes, left_weight),
                        Policy::counts_cost(data_, s.rest.data(), data_.n_classes, right_weight));
                    if (!here.better_than(best)) continue;
                    best = here;
                    best.position = 0;
                    best.missing_left = missing_left == 1;
                    s.goes_left.assign(q, 0);
                    for (std::size_t r = 0; r < q; ++r) s.goes_left[r] = members >> r & 1U;
                }
            }
        }
        return best;
    }

    // -- linear tests ----------------------------------------------------------------------------------------------
    // Replaces `best` by a linear test on the numeric ones of `features` if that decreases impurity more.
    void try_linear(const Pending& node, const NodeTotals& totals, const std::vector<std::int32_t>& features, Split& best) {
        const ObliqueOptions* o = growth_.options.oblique;
        if constexpr (Policy::classifies) {
            if (o == nullptr || features.empty()) return;
            ObliqueNode part;
            part.table = growth_.columns.cells;
            part.table_columns = o->columns;
            for (index_t j = 0; j < o->n_columns; ++j)
                if (std::binary_search(features.begin(), features.end(), o->columns[j]))
                    part.columns.push_back(static_cast<std::int32_t>(j));
            if (part.columns.size() < 2 ||
                node.summary.repeats < o->rows_per_column * static_cast<double>(part.columns.size()))
                return;
            const Entry* segment = column(features[0]) + node.begin;
            std::vector<std::int32_t> rows(static_cast<std::size_t>(node.size()));
            for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(row_of(segment[i]));
            std::sort(rows.begin(), rows.end());
            part.weight.reserve(rows.size());
            part.label.reserve(rows.size());
            part.table_row.reserve(rows.size());
            for (const std::int32_t row : rows) {
                part.weight.push_back(data_.weight_of(row));
                part.label.push_back(data_.label[row]);
                part.table_row.push_back(growth_.rows[position_of(row)]);
            }
            const auto directions = oblique_directions(part, *o, data_.n_classes, node.path, threads_);
            // Directions are tried on rows and cells alone: the sums that are sorted take the place of the rest.
            std::vector<double>().swap(part.weight);
            std::vector<std::int32_t>().swap(part.label);
            for (const auto& direction : directions) try_direction(node, totals, part, rows, direction, best);
        }
    }

    void try_direction(const Pending& node, const NodeTotals& totals, const ObliqueNode& part,
                       const std::vector<std::int32_t>& rows, const std::vector<double>& direction, Split& best) {
        const ObliqueOptions& o = *growth_.options.oblique;
        LinearTest test;
        if (!linear_test(part, direction, o.n_columns, test)) return;
        std::vector<std::pair<double, std::int32_t>> sums(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            sums[i] = {linear_sum(test, part.cells(i), o.columns), rows[i]};
            if (!std::isfinite(sums[i].first)) return;
        }
        std::sort(sums.begin(), sums.end());
        std::vector<Wide> entries(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool fresh = i > 0 && sums[i].first != sums[i - 1].first;
            entries[i] = static_cast<Wide>(sums[i].second) | (fresh ? fresh_bit<Wide> : 0);
        }
        const bool traced = growth_.options.trace;
        const Candidate found = scratch_[0].scanner.scan(data_, totals, entries.data(), node.size(),
                                                         traced ? Candidate{} : best.candidate);
        if (found.position < 0) return;
        const auto p = static_cast<std::size_t>(found.position);
        const double below = sums[p - 1].first, above = sums[p].first, middle = 0.5 * below + 0.5 * above;
        const double threshold = middle < above && middle >= below ? middle : below;
        if (traced) {
            auto& tried = nodes_.tried[static_cast<std::size_t>(node.node)];
            tried.insert(tried.end(), {gain(node, totals, found.cost), threshold});
            tried.insert(tried.end(), test.weight.begin(), test.weight.end());
        }
        if (!found.better_than(best.candidate)) return;
        std::vector<std::pair<double, std::int32_t>>().swap(sums);  // the entries say the order
        // A gain of rounding alone is none: the simpler test stays.
        if (best.found() && gain(node, totals, found.cost) <= gain(node, totals, best.candidate.cost) + 1e-12) return;
        best.candidate = found;
        best.feature = o.columns[test.lead];
        best.weight = std::move(test.weight);
        best.fill = std::move(test.fill);
        best.share = std::move(test.share);
        best.threshold = threshold;
        best.order.resize(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) best.order[i] = static_cast<std::int32_t>(row_of(entries[i]));
    }

    // -- the split -------------------------------------------------------------------------------------------------
    // Marks the side of every row of the node and lists the rows of both sides.
    void send_rows(const Pending& node, const Split& split) {
        if (split.linear()) {
            n_left_ = split.candidate.position;
            n_right_ = node.size() - n_left_;
            std::copy_n(split.order.begin(), node.size(), sides_.begin());
            // In the order of rows, so that sums of weights do not depend on the direction.
            std::sort(sides_.begin(), sides_.begin() + n_left_);
            std::sort(sides_.begin() + n_left_, sides_.begin() + node.size());
            for (index_t i = 0; i < node.size(); ++i) side_[static_cast<std::size_t>(sides_[static_cast<std::size_t>(i)])] = i < n_left_;
            return;
        }
        const Entry* segment = column(split.feature) + node.begin;
        const index_t n = node.size(), missing = count_missing(segment, n), present = n - missing;
        n_left_ = n_right_ = 0;
        const bool nominal = growth_.nominal(split.feature);
        index_t run = -1;
        for (index_t i = 0; i < n; ++i) {
            bool left;
            if (i >= present) {
                left = split.candidate.missing_left;
            } else if (nominal) {
                run += i == 0 || is_fresh(segment[i]);
                left = split.goes_left[static_cast<std::size_t>(run)] != 0;
            } else {
                left = i < split.candidate.position;
            }
            const auto row = static_cast<std::int32_t>(row_of(segment[i]));
            side_[static_cast<std::size_t>(row)] = left;
            if (left) {
                sides_[static_cast<std::size_t>(n_left_++)] = row;
            } else {
                sides_[static_cast<std::size_t>(n - ++n_right_)] = row;
            }
        }
        std::reverse(sides_.begin() + n_left_, sides_.begin() + n);
    }

    index_t position_of(index_t row) const { return positions.empty() ? row : positions[static_cast<std::size_t>(row)]; }

    void write_test(const Pending& node, const Split& split) {
        const auto at = static_cast<std::size_t>(node.node);
        const index_t f = split.feature;
        if (split.linear()) {
            nodes_.feature[at] = split.feature;
            nodes_.threshold[at] = split.threshold;
            nodes_.linear[at] = static_cast<std::int32_t>(nodes_.linear_weight.size() / split.weight.size());
            nodes_.linear_weight.insert(nodes_.linear_weight.end(), split.weight.begin(), split.weight.end());
            nodes_.linear_fill.insert(nodes_.linear_fill.end(), split.fill.begin(), split.fill.end());
            nodes_.linear_share.insert(nodes_.linear_share.end(), split.share.begin(), split.share.end());
            return;
        }
        const Entry* segment = column(f) + node.begin;
        const index_t n = node.size(), missing = count_missing(segment, n), present = n - missing;
        nodes_.feature[at] = split.feature;
        const bool missing_left = missing > 0 ? split.candidate.missing_left : left_.repeats > right_.repeats;
        nodes_.missing_left[at] = missing_left;
        if (!growth_.nominal(f)) {
            const index_t p = split.candidate.position;
            if (p == present) {  // every present value against the missing ones
                nodes_.threshold[at] = std::numeric_limits<double>::max();
                return;
            }
            const double below = growth_.value(f, position_of(row_of(segment[p - 1])));
            const double above = growth_.value(f, position_of(row_of(segment[p])));
            const double middle = 0.5 * below + 0.5 * above;
            nodes_.threshold[at] = middle < above && middle >= below ? middle : below;
            return;
        }
        const index_t words = (growth_.columns.n_categories[f] + 63) / 64;
        nodes_.categories[at] = static_cast<std::int64_t>(nodes_.words.size());
        nodes_.words.resize(nodes_.words.size() + static_cast<std::size_t>(words), missing_left ? ~std::uint64_t{0} : 0);
        std::uint64_t* set = nodes_.words.data() + nodes_.categories[at];
        index_t run = -1;
        for (index_t i = 0; i < present; ++i) {
            if (i > 0 && !is_fresh(segment[i])) continue;
            ++run;
            const std::int32_t code = growth_.category(f, position_of(row_of(segment[i])));
            const std::uint64_t bit = std::uint64_t{1} << (code % 64);
            if (split.goes_left[static_cast<std::size_t>(run)] != 0) {
                set[code / 64] |= bit;
            } else {
                set[code / 64] &= ~bit;
            }
        }
    }

    // Sorts the segments of a node to its children, keeping the order; the right child is not written if it is a leaf.
    void partition(const std::vector<std::int32_t>& active, const Pending& node, bool keep_right) {
        const index_t n = node.size();
        const auto one = [&](std::int32_t f, Scratch& s) {
            Entry* segment = column(f) + node.begin;
            const std::uint8_t* side = side_.data();
            if (static_cast<index_t>(s.entries.size()) < n) s.entries.resize(static_cast<std::size_t>(n));
            Entry* spare = s.entries.data();
            index_t l = 0, r = 0;
            if (growth_.distinct[static_cast<std::size_t>(f)] != 0) {
                for (index_t i = 0; i < n; ++i) {
                    const Entry entry = segment[i];
                    const index_t left = side[row_of(entry)];
                    segment[l] = entry;
                    spare[r] = entry;
                    l += left;
                    r += 1 - left;
                }
                if (keep_right) std::copy_n(spare, r, segment + l);
                return;
            }
            // Whether the value has changed since the last entry on either side.
            Entry fresh_left = 0, fresh_right = 0;
            for (index_t i = 0; i < n; ++i) {
                const Entry entry = segment[i];
                const index_t left = side[row_of(entry)];
                fresh_left |= entry & fresh_bit<Entry>;
                fresh_right |= entry & fresh_bit<Entry>;
                segment[l] = entry | fresh_left;
                spare[r] = entry | fresh_right;
                l += left;
                r += 1 - left;
                fresh_left &= static_cast<Entry>(left - 1);
                fresh_right &= static_cast<Entry>(-left);
            }
            if (keep_right) std::copy_n(spare, r, segment + l);
        };
        if (threads_ <= 1 || n < 2048) {
            for (const std::int32_t f : active) one(f, scratch_[0]);
            return;
        }
        parallel_chunks(static_cast<index_t>(active.size()), 1, threads_, [&](index_t c, index_t, index_t) {
            one(active[static_cast<std::size_t>(c)], scratch_[static_cast<std::size_t>(thread_number())]);
        });
    }

    const Growth& growth_;
    const Samples data_;
    const index_t n_;
    NodeList& nodes_;
    const int threads_;
    std::vector<index_t> slot_;
    std::unique_ptr<Entry[]> own_;
    Entry* entries_ = nullptr;
    std::vector<std::uint8_t> side_;
    std::vector<Scratch> scratch_;
    std::vector<std::int32_t> sides_;  // the rows of a node that is split: those of the left, then those of the right
    index_t n_left_ = 0, n_right_ = 0;
    Summary left_, right_;
    std::vector<double> left_value_, right_value_;
};

}  // namespace assay::trees
