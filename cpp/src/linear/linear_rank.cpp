#include "assay/linear/linear_rank.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "assay/common/threads.hpp"

namespace assay {
namespace {

// Prefix sums of W values per level, updated in any order (Fenwick, 1994).
template <std::size_t W>
class LevelSums {
public:
    explicit LevelSums(index_t levels) : cells_(static_cast<std::size_t>(levels) + 1) {}
    void add(index_t level, const std::array<double, W>& values) {
        for (auto k = static_cast<std::size_t>(level) + 1; k < cells_.size(); k += k & (~k + 1))
            for (std::size_t w = 0; w < W; ++w) cells_[k][w] += values[w];
    }
    // Sums over levels below `level`.
    std::array<double, W> below(index_t level) const {
        std::array<double, W> total{};
        for (auto k = static_cast<std::size_t>(level); k > 0; k -= k & (~k + 1))
            for (std::size_t w = 0; w < W; ++w) total[w] += cells_[k][w];
        return total;
    }

private:
    std::vector<std::array<double, W>> cells_;
};

// One group: rows by falling score, levels renumbered from 0 without gaps.
class Group {
public:
    Group(const RankedRows& rows, index_t begin, index_t end) : scores_(rows.scores), begin_(begin) {
        order_.resize(static_cast<std::size_t>(end - begin));
        std::iota(order_.begin(), order_.end(), begin);
        std::vector<index_t> by_level = order_;
        std::stable_sort(by_level.begin(), by_level.end(),
                         [&](index_t a, index_t b) { return rows.levels[a] < rows.levels[b]; });
        level_.resize(order_.size());
        for (std::size_t t = 0; t < by_level.size(); ++t) {
            if (t > 0 && rows.levels[by_level[t]] != rows.levels[by_level[t - 1]]) ++levels_;
            level_[static_cast<std::size_t>(by_level[t] - begin)] = levels_;
        }
        ++levels_;
        std::stable_sort(order_.begin(), order_.end(),
                         [&](index_t a, index_t b) { return rows.scores[a] > rows.scores[b]; });
        if (count() > 0) middle_ = scores_[row_at(count() / 2)];
    }
    index_t count() const { return static_cast<index_t>(order_.size()); }
    index_t levels() const { return levels_; }
    index_t row_at(index_t t) const { return order_[static_cast<std::size_t>(t)]; }
    // From the middle of the group, so that sums of squares keep their digits.
    double score_of(index_t i) const { return scores_[i] - middle_; }
    index_t level_of(index_t i) const { return level_[static_cast<std::size_t>(i - begin_)]; }

private:
    Vector<const double> scores_;
    index_t begin_, levels_ = 0;
    double middle_ = 0.0;
    std::vector<index_t> order_, level_;
};

double weight_of(const RankedRows& rows, index_t i) { return rows.weights.empty() ? 1.0 : rows.weights[i]; }

double group_loss(const RankedRows& rows, index_t begin, index_t end, bool squared, Vector<double> gradient) {
    const Group group(rows, begin, end);
    const index_t count = group.count();
    double loss = 0.0;
    LevelSums<3> worse(group.levels());
    for (index_t t = 0, next = 0; t < count; ++t) {
        const index_t i = group.row_at(t);
        const double s = group.score_of(i);
        for (; next < count && group.score_of(group.row_at(next)) > s - 1.0; ++next) {
            const index_t j = group.row_at(next);
            const double w = weight_of(rows, j), other = group.score_of(j);
            worse.add(group.level_of(j), {w, w * other, w * other * other});
        }
        const auto [w, first, second] = worse.below(group.level_of(i));
        const double own = weight_of(rows, i), gap = 1.0 - s;
        gradient[i] = -own * (squared ? w * gap + first : w);
        loss += own * (squared ? 0.5 * (w * gap * gap + 2.0 * gap * first + second) : w * gap + first);
    }
    LevelSums<2> better(group.levels());
    for (index_t t = count - 1, next = count - 1; t >= 0; --t) {
        const index_t j = group.row_at(t);
        const double s = group.score_of(j);
        for (; next >= 0 && group.score_of(group.row_at(next)) - 1.0 < s; --next) {
            const index_t i = group.row_at(next);
            const double w = weight_of(rows, i);
            better.add(group.levels() - 1 - group.level_of(i), {w, w * group.score_of(i)});
        }
        const auto [w, first] = better.below(group.levels() - 1 - group.level_of(j));
        gradient[j] += weight_of(rows, j) * (squared ? w * (1.0 + s) - first : w);
    }
    return loss;
}

void group_product(const RankedRows& rows, index_t begin, index_t end, Vector<const double> direction,
                   Vector<double> product) {
    const Group group(rows, begin, end);
    const index_t count = group.count();
    LevelSums<2> worse(group.levels()), better(group.levels());
    for (index_t t = 0, next = 0; t < count; ++t) {
        const index_t i = group.row_at(t);
        for (; next < count && group.score_of(group.row_at(next)) > group.score_of(i) - 1.0; ++next) {
            const double w = weight_of(rows, group.row_at(next));
            worse.add(group.level_of(group.row_at(next)), {w, w * direction[group.row_at(next)]});
        }
        const auto [w, first] = worse.below(group.level_of(i));
        product[i] = weight_of(rows, i) * (w * direction[i] - first);
    }
    for (index_t t = count - 1, next = count - 1; t >= 0; --t) {
        const index_t j = group.row_at(t);
        for (; next >= 0 && group.score_of(group.row_at(next)) - 1.0 < group.score_of(j); --next) {
            const double w = weight_of(rows, group.row_at(next));
            better.add(group.levels() - 1 - group.level_of(group.row_at(next)), {w, w * direction[group.row_at(next)]});
        }
        const auto [w, first] = better.below(group.levels() - 1 - group.level_of(j));
        product[j] += weight_of(rows, j) * (w * direction[j] - first);
    }
}

PairCounts group_counts(const RankedRows& rows, index_t begin, index_t end) {
    const Group group(rows, begin, end);
    const index_t count = group.count();
    PairCounts found;
    LevelSums<1> all(group.levels()), lower(group.levels());
    for (index_t i = begin; i < end; ++i) all.add(group.level_of(i), {weight_of(rows, i)});
    for (index_t i = begin; i < end; ++i)
        found.all += weight_of(rows, i) * all.below(group.level_of(i))[0];
    for (index_t last = count; last > 0;) {
        index_t first = last - 1;
        const double score = rows.scores[group.row_at(first)];
        while (first > 0 && rows.scores[group.row_at(first - 1)] == score) --first;
        LevelSums<1> equal(last - first > 1 ? group.levels() : 0);
        for (index_t t = first; t < last; ++t) {
            const index_t i = group.row_at(t);
            found.ordered += weight_of(rows, i) * lower.below(group.level_of(i))[0];
            if (last - first > 1) equal.add(group.level_of(i), {weight_of(rows, i)});
        }
        for (index_t t = first; t < last; ++t) {
            const index_t i = group.row_at(t);
            const index_t level = group.level_of(i);
            if (last - first > 1) found.tied += weight_of(rows, i) * equal.below(level)[0];
            lower.add(level, {weight_of(rows, i)});
        }
        last = first;
    }
    return found;
}

}  // namespace

double rank_loss(const RankedRows& rows, bool squared, Vector<double> gradient, int threads) {
    const index_t groups = rows.group_begin.size - 1;
    std::vector<double> losses(static_cast<std::size_t>(groups));
    parallel_chunks(groups, 1, threads, [&](index_t g, index_t, index_t) {
        losses[static_cast<std::size_t>(g)] =
            group_loss(rows, rows.group_begin[g], rows.group_begin[g + 1], squared, gradient);
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

void rank_curvature_product(const RankedRows& rows, Vector<const double> direction, Vector<double> product, int threads) {
    parallel_chunks(rows.group_begin.size - 1, 1, threads, [&](index_t g, index_t, index_t) {
        group_product(rows, rows.group_begin[g], rows.group_begin[g + 1], direction, product);
    });
}

PairCounts count_pairs(const RankedRows& rows, int threads) {
    const index_t groups = rows.group_begin.size - 1;
    std::vector<PairCounts> counts(static_cast<std::size_t>(groups));
    parallel_chunks(groups, 1, threads, [&](index_t g, index_t, index_t) {
        counts[static_cast<std::size_t>(g)] = group_counts(rows, rows.group_begin[g], rows.group_begin[g + 1]);
    });
    PairCounts total;
    for (const PairCounts& part : counts) {
        total.ordered += part.ordered;
        total.tied += part.tied;
        total.all += part.all;
    }
    return total;
}

}  // namespace assay
