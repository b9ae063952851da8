// The k-d tree of the neighbour search (kd_tree.hpp) with the bounding box of every node, walked by methods that cluster.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/threads.hpp"
#include "assay/neighbours/kd_tree.hpp"

namespace assay::clustering {

struct Node {
    index_t begin, end;         // positions in tree order
    std::int32_t left, right;   // -1 for a leaf
};

// How differences of coordinates make a reduced distance.
struct SquareTerms {
    static constexpr neighbours::Metric metric = neighbours::Metric::euclidean;
    static double join(double sum, double gap) { return sum + gap * gap; }
};
struct AbsoluteTerms {
    static constexpr neighbours::Metric metric = neighbours::Metric::manhattan;
    static double join(double sum, double gap) { return sum + gap; }
};
struct LargestTerm {
    static constexpr neighbours::Metric metric = neighbours::Metric::chebyshev;
    static double join(double sum, double gap) { return std::max(sum, gap); }
};

class BoxTree {
public:
    BoxTree(Matrix<const double> rows, int threads)
        : tree(neighbours::build_kd_tree(rows, threads)), n(rows.rows), d(rows.cols), rows_(rows) {
        const std::size_t count = tree.column.size();
        nodes.resize(count);
        low.resize(count * static_cast<std::size_t>(d));
        high.resize(low.size());
        place(0, 0, n);
        panels.resize(static_cast<std::size_t>(neighbours::panel_count(n) * neighbours::panel_lanes * d));
        neighbours::pack_panels(rows, tree.order.data(), panels.data(), threads);
        for (std::size_t v = count; v-- > 0;) bound(v);
    }

    // For walks that read pairs of boxes alone, which are made here: the boxes of single nodes, and what the tree says of its splits, are let go.
    void keep_pairs() {
        pair_up();
        for (auto* held : {&low, &high, &tree.low, &tree.high}) std::vector<double>().swap(*held);
        for (auto* held : {&tree.column, &tree.right}) std::vector<std::int32_t>().swap(*held);
    }
    bool leaf(std::size_t v) const { return nodes[v].left < 0; }
    const double* point(index_t p) const { return rows_.row(tree.order[static_cast<std::size_t>(p)]); }

    // The least and the largest distance of a query from the points of a box; a little slack covers rounding.
    template <class Terms>
    double least(const double* q, std::size_t v) const {
        const double *const a = low.data() + v * static_cast<std::size_t>(d), *const b = high.data() + v * static_cast<std::size_t>(d);
        double sum = 0.0;
        for (index_t t = 0; t < d; ++t) sum = Terms::join(sum, std::max(0.0, std::max(a[t] - q[t], q[t] - b[t])));
        return sum * (1.0 - 1e-12);
    }
    template <class Terms>
    double largest(const double* q, std::size_t v) const {
        const double *const a = low.data() + v * static_cast<std::size_t>(d), *const b = high.data() + v * static_cast<std::size_t>(d);
        double sum = 0.0;
        for (index_t t = 0; t < d; ++t) sum = Terms::join(sum, std::max(q[t] - a[t], b[t] - q[t]));
        return sum * (1.0 + 1e-12);
    }
    template <class Terms>
    double diameter(std::size_t v) const {
        double sum = 0.0;
        for (index_t t = 0; t < d; ++t) {
            const std::size_t at = v * static_cast<std::size_t>(d) + static_cast<std::size_t>(t);
            sum = Terms::join(sum, high[at] - low[at]);
        }
        return sum * (1.0 + 1e-12);
    }
    // Distances of a query from the points of a leaf: found[i] belongs to position begin + i.
    void leaf_distances(neighbours::PanelDistances measure, const double* q, std::size_t v, double* found) const {
        const Node& node = nodes[v];
        measure(q, panels.data() + node.begin * d, neighbours::panel_count(node.end - node.begin), d, options, found);
    }

    neighbours::KdTree tree;
    index_t n, d;
    std::vector<Node> nodes;
    std::vector<double> low, high;
    std::vector<double, Unwritten<double>> panels;  // the points, in the order of the tree
    std::vector<double> pairs;  // of a node with children, for each column: low and low, -high and -high of left and right
    neighbours::MetricOptions options;

private:
    const Matrix<const double> rows_;  // the caller's, which outlives the tree

    void pair_up() {
        pairs.resize(4 * low.size());
        for (std::size_t v = 0; v < nodes.size(); ++v) {
            if (leaf(v)) continue;
            for (index_t t = 0; t < d; ++t) {
                const auto column = static_cast<std::size_t>(t), width = static_cast<std::size_t>(d);
                const std::size_t l = static_cast<std::size_t>(nodes[v].left) * width + column;
                const std::size_t r = static_cast<std::size_t>(nodes[v].right) * width + column;
                double* const to = pairs.data() + 4 * (v * width + column);
                to[0] = low[l];
                to[1] = low[r];
                to[2] = -high[l];
                to[3] = -high[r];
            }
        }
    }
    void place(std::size_t v, index_t begin, index_t end) {
        if (tree.column[v] < 0) {
            nodes[v] = {begin, end, -1, -1};
            return;
        }
        const index_t middle = neighbours::middle_of(begin, end);
        nodes[v] = {begin, end, static_cast<std::int32_t>(v) + 1, tree.right[v]};
        place(v + 1, begin, middle);
        place(static_cast<std::size_t>(tree.right[v]), middle, end);
    }
    void bound(std::size_t v) {
        const Node& node = nodes[v];
        double *const a = low.data() + v * static_cast<std::size_t>(d), *const b = high.data() + v * static_cast<std::size_t>(d);
        if (node.left < 0) {
            std::copy_n(point(node.begin), d, a);
            std::copy_n(point(node.begin), d, b);
            for (index_t p = node.begin + 1; p < node.end; ++p)
                for (index_t t = 0; t < d; ++t) {
                    a[t] = std::min(a[t], point(p)[t]);
                    b[t] = std::max(b[t], point(p)[t]);
                }
            return;
        }
        const auto l = static_cast<std::size_t>(node.left) * static_cast<std::size_t>(d);
        const auto r = static_cast<std::size_t>(node.right) * static_cast<std::size_t>(d);
        for (index_t t = 0; t < d; ++t) {
            const auto at = static_cast<std::size_t>(t);
            a[t] = std::min(low[l + at], low[r + at]);
            b[t] = std::max(high[l + at], high[r + at]);
        }
    }
};

// Disjoint sets of positions; the representative of a set is its smallest member.
class DisjointSets {
public:
    explicit DisjointSets(index_t n) : parent_(static_cast<std::size_t>(n)) {
        for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<std::int32_t>(i);
    }
    std::int32_t find(std::int32_t x) {
        while (parent_[static_cast<std::size_t>(x)] != x) {
            std::int32_t& up = parent_[static_cast<std::size_t>(x)];
            up = parent_[static_cast<std::size_t>(up)];
            x = up;
        }
        return x;
    }
    bool join(std::int32_t a, std::int32_t b) {
        a = find(a);
        b = find(b);
        if (a == b) return false;
        parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
        return true;
    }

private:
    std::vector<std::int32_t> parent_;
};

}  // namespace assay::clustering
