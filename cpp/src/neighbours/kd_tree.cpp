#include "assay/neighbours/kd_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/threads.hpp"
#include "tree_goals.hpp"

namespace assay::neighbours {
namespace {

constexpr double slack = 1.0 - 1e-12;

class Builder {
public:
    Builder(Matrix<const double> rows, KdTree& tree) : rows_(rows), tree_(tree) {}

    void build(index_t begin, index_t end) {
        const std::size_t node = tree_.column.size();
        tree_.column.push_back(-1);
        tree_.right.push_back(-1);
        tree_.low.push_back(0.0);
        tree_.high.push_back(0.0);
        if (end - begin <= leaf_rows || interrupted()) return;
        const index_t column = widest(begin, end), middle = middle_of(begin, end);
        std::int64_t* order = tree_.order.data();
        const auto before = [&](std::int64_t a, std::int64_t b) {
            const double x = rows_(a, column), y = rows_(b, column);
            return x < y || (x == y && a < b);
        };
        std::nth_element(order + begin, order + middle, order + end, before);
        tree_.column[node] = static_cast<std::int32_t>(column);
        double low = rows_(order[begin], column);
        for (index_t i = begin; i < middle; ++i) low = std::max(low, rows_(order[i], column));
        tree_.low[node] = low;
        tree_.high[node] = rows_(order[middle], column);
        build(begin, middle);
        tree_.right[node] = static_cast<std::int32_t>(tree_.column.size());
        build(middle, end);
    }

private:
    index_t widest(index_t begin, index_t end) const {
        index_t best = 0;
        double width = -1.0;
        for (index_t j = 0; j < rows_.cols; ++j) {
            double least = rows_(tree_.order[static_cast<std::size_t>(begin)], j), most = least;
            for (index_t i = begin; i < end; ++i) {
                const double value = rows_(tree_.order[static_cast<std::size_t>(i)], j);
                least = std::min(least, value);
                most = std::max(most, value);
            }
            if (most - least > width) {
                width = most - least;
                best = j;
            }
        }
        return best;
    }

    Matrix<const double> rows_;
    KdTree& tree_;
};

// How a column's distance enters a bound.
struct Squares {
    static double term(double gap, double) { return gap * gap; }
    static double join(double bound, double before, double now) { return bound - before + now; }
};
struct Sums : Squares {
    static double term(double gap, double) { return gap; }
};
struct Powers : Squares {
    static double term(double gap, double p) { return std::pow(gap, p); }
};
struct Maxima {
    static double term(double gap, double) { return gap; }
    static double join(double bound, double, double now) { return std::max(bound, now); }
};

// `Goal` has reach(), the distance up to which rows matter, and offer(distance, row).
template <class Terms, class Goal>
class Walk {
public:
    Walk(const KdTreeView& tree, PanelDistances measure, double p, const double* query, index_t d, double* gaps,
         Goal& goal)
        : tree_(tree), measure_(measure), query_(query), d_(d), gaps_(gaps), goal_(goal) {
        options_.p = p;
    }

    void visit(index_t node, index_t begin, index_t end, double bound) {
        const std::int32_t column = tree_.column[node];
        if (column < 0) return leaf(begin, end);
        const double value = query_[column], low = tree_.low[node], high = tree_.high[node];
        const index_t middle = middle_of(begin, end);
        const bool left_first = value - low < high - value;
        const double gap = std::max(0.0, left_first ? high - value : value - low);
        const double before = gaps_[column], now = std::max(before, Terms::term(gap, options_.p));
        const double far_bound = Terms::join(bound, before, now);
        if (left_first)
            visit(node + 1, begin, middle, bound);
        else
            visit(tree_.right[node], middle, end, bound);
        if (!(far_bound * slack <= goal_.reach())) return;
        gaps_[column] = now;
        if (left_first)
            visit(tree_.right[node], middle, end, far_bound);
        else
            visit(node + 1, begin, middle, far_bound);
        gaps_[column] = before;
    }

private:
    void leaf(index_t begin, index_t end) {
        double distances[2 * panel_lanes];
        measure_(query_, tree_.panels + begin * d_, panel_count(end - begin), d_, options_, distances);
        for (index_t i = begin; i < end; ++i)
            if (distances[i - begin] <= goal_.reach()) goal_.offer(distances[i - begin], tree_.order[i]);
    }

    const KdTreeView& tree_;
    PanelDistances measure_;
    MetricOptions options_;
    const double* query_;
    index_t d_;
    double* gaps_;
    Goal& goal_;
};

template <class Goal>
void walk(const KdTreeView& tree, Metric metric, double p, const double* query, index_t d, double* gaps, Goal& goal) {
    const PanelDistances measure = panel_distances(metric);
    std::fill(gaps, gaps + d, 0.0);
    switch (metric) {
        case Metric::manhattan: Walk<Sums, Goal>(tree, measure, p, query, d, gaps, goal).visit(0, 0, tree.n, 0.0); break;
        case Metric::chebyshev: Walk<Maxima, Goal>(tree, measure, p, query, d, gaps, goal).visit(0, 0, tree.n, 0.0); break;
        case Metric::minkowski: Walk<Powers, Goal>(tree, measure, p, query, d, gaps, goal).visit(0, 0, tree.n, 0.0); break;
        default: Walk<Squares, Goal>(tree, measure, p, query, d, gaps, goal).visit(0, 0, tree.n, 0.0);
    }
}

}  // namespace

KdTree build_kd_tree(Matrix<const double> rows, int threads) {
    KdTree tree;
    tree.order.resize(static_cast<std::size_t>(rows.rows));
    std::iota(tree.order.begin(), tree.order.end(), 0);
    Builder(rows, tree).build(0, rows.rows);
    tree.panels.resize(static_cast<std::size_t>(panel_count(rows.rows) * panel_lanes * rows.cols));
    pack_panels(rows, tree.order.data(), tree.panels.data(), threads);
    return tree;
}

bool well_formed(const KdTreeView& tree, index_t nodes, index_t d) {
    struct Span {
        index_t node, begin, end;
    };
    std::vector<Span> open{{0, 0, tree.n}};
    while (!open.empty()) {
        const Span span = open.back();
        open.pop_back();
        if (span.node >= nodes) return false;
        const std::int32_t column = tree.column[span.node], right = tree.right[span.node];
        if (column < 0) {
            if (span.end - span.begin > leaf_rows) return false;
            continue;
        }
        if (column >= d || span.end - span.begin <= leaf_rows || right <= span.node + 1) return false;
        const index_t middle = middle_of(span.begin, span.end);
        open.push_back({right, middle, span.end});
        open.push_back({span.node + 1, span.begin, middle});
    }
    return true;
}

void nearest_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                     std::int64_t* nearest, double* distances, int threads) {
    parallel_chunks(queries.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        KeepNearest goal{Nearest(k)};
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t i = begin; i < end && !interrupted(); ++i) {
            goal.best.clear();
            walk(tree, metric, p, queries.row(i), queries.cols, gaps.data(), goal);
            goal.best.write(nearest + i * k, distances + i * k);
        }
    });
}

void count_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                   std::int64_t* counts, int threads) {
    parallel_chunks(queries.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t i = begin; i < end && !interrupted(); ++i) {
            Tally goal{radius};
            walk(tree, metric, p, queries.row(i), queries.cols, gaps.data(), goal);
            counts[i] = goal.count;
        }
    });
}

RadiusLists within_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                           int threads) {
    RadiusCollector collector(queries.rows);
    parallel_chunks(queries.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t i = begin; i < end && !interrupted(); ++i) {
            Gather goal{radius, i, collector};
            walk(tree, metric, p, queries.row(i), queries.cols, gaps.data(), goal);
        }
    });
    return collector.lists();
}

}  // namespace assay::neighbours
