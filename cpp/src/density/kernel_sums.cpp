#include "assay/density/kernel_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::density {
namespace {

using neighbours::KdTreeView;
using neighbours::leaf_rows;
using neighbours::middle_of;
using neighbours::panel_count;
using neighbours::panel_lanes;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double least_tolerance = 0x1.0p-55;

// Sum of weights[i] exp(scale d_i - top) over a leaf; lanes beyond `count` have weight zero.
ASSAY_INLINE double exponentials_body(const double* distances, const double* weights, index_t lanes, double scale,
                                      double top) {
    double part[8] = {};
    for (index_t i = 0; i < lanes; i += 8)
        for (int l = 0; l < 8; ++l) part[l] += weights[i + l] * fast_exp(scale * distances[i + l] - top);
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}
ASSAY_DISPATCH(double, exponentials, exponentials_body,
               (const double* distances, const double* weights, index_t lanes, double scale, double top),
               (distances, weights, lanes, scale, top))

struct Nodes {
    index_t d;
    std::vector<double> low, high, centre;  // nodes x d
    std::vector<double> weight, scatter;    // nodes
    std::vector<double> row_weight;         // n, in the order of the tree; none where all are 1
};

class Summary {
public:
    Summary(const KdTreeView& tree, index_t d, const double* weights) : tree_(tree), nodes_{d, {}, {}, {}, {}, {}, {}} {
        const auto nodes = static_cast<std::size_t>(tree.nodes), cells = nodes * static_cast<std::size_t>(d);
        for (auto* list : {&nodes_.low, &nodes_.high, &nodes_.centre}) list->resize(cells);
        nodes_.weight.resize(nodes);
        nodes_.scatter.resize(nodes);
        if (weights != nullptr) {
            nodes_.row_weight.resize(static_cast<std::size_t>(tree.rows.rows));
            for (index_t i = 0; i < tree.rows.rows; ++i) nodes_.row_weight[i] = weights[tree.order[i]];
        }
        describe(0, 0, tree.rows.rows);
    }
    Nodes take() { return std::move(nodes_); }

private:
    double cell(index_t i, index_t j) const {
        return tree_.rows(tree_.order[i], j);
    }
    double weight(index_t i) const { return nodes_.row_weight.empty() ? 1.0 : nodes_.row_weight[i]; }

    void describe(index_t node, index_t begin, index_t end) {
        const index_t d = nodes_.d;
        const auto at = static_cast<std::size_t>(node * d);
        if (tree_.column[node] < 0) return leaf(node, begin, end);
        const index_t left = node + 1, right = tree_.right[node], middle = middle_of(begin, end);
        describe(left, begin, middle);
        describe(right, middle, end);
        const double a = nodes_.weight[left], b = nodes_.weight[right], both = a + b;
        double scatter = nodes_.scatter[left] + nodes_.scatter[right];
        for (index_t j = 0; j < d; ++j) {
            const std::size_t l = static_cast<std::size_t>(left * d + j), r = static_cast<std::size_t>(right * d + j);
            nodes_.low[at + j] = std::min(nodes_.low[l], nodes_.low[r]);
            nodes_.high[at + j] = std::max(nodes_.high[l], nodes_.high[r]);
            const double apart = nodes_.centre[r] - nodes_.centre[l];
            nodes_.centre[at + j] = both > 0 ? nodes_.centre[l] + apart * (b / both) : nodes_.centre[l];
            if (both > 0) scatter += a * (b / both) * apart * apart;
        }
        nodes_.weight[node] = both;
        nodes_.scatter[node] = scatter;
    }

    void leaf(index_t node, index_t begin, index_t end) {
        const index_t d = nodes_.d;
        double total = 0.0, scatter = 0.0;
        for (index_t i = begin; i < end; ++i) total += weight(i);
        for (index_t j = 0; j < d; ++j) {
            double low = infinity, high = -infinity, sum = 0.0;
            for (index_t i = begin; i < end; ++i) {
                const double value = cell(i, j);
                low = std::min(low, value);
                high = std::max(high, value);
                sum += weight(i) * (value - cell(begin, j));
            }
            const double centre = cell(begin, j) + (total > 0 ? sum / total : 0.0);
            for (index_t i = begin; i < end; ++i) {
                const double apart = cell(i, j) - centre;
                scatter += weight(i) * apart * apart;
            }
            const auto at = static_cast<std::size_t>(node * d + j);
            nodes_.low[at] = low;
            nodes_.high[at] = high;
            nodes_.centre[at] = centre;
        }
        nodes_.weight[node] = total;
        nodes_.scatter[node] = scatter;
    }

    const KdTreeView& tree_;
    Nodes nodes_;
};

// One query on its way through the tree.
class Walk {
public:
    Walk(const KdTreeView& tree, neighbours::VisitedPanels& panels, const Nodes& nodes, Kernel kernel, double tolerance)
        : tree_(tree), panels_(panels), nodes_(nodes), kernel_(kernel),
          tolerance_(std::max(2.0 * tolerance, least_tolerance)),
          measure_(neighbours::panel_distances(neighbours::Metric::euclidean)) {}

    double log_sum(const double* query, double bandwidth, index_t left_out) {
        query_ = query;
        inverse_ = 1.0 / bandwidth / bandwidth;
        left_out_ = left_out;
        top_ = kernel_ == Kernel::gaussian ? -infinity : 0.0;
        sum_ = 0.0;
        visit(0, 0, tree_.rows.rows, nearest(0));
        return sum_ > 0.0 ? top_ + std::log(sum_) : -infinity;
    }

private:
    double nearest(index_t node) const {
        const double* low = nodes_.low.data() + node * nodes_.d;
        const double* high = nodes_.high.data() + node * nodes_.d;
        double total = 0.0;
        for (index_t j = 0; j < nodes_.d; ++j) {
            const double gap = std::max(0.0, std::max(low[j] - query_[j], query_[j] - high[j]));
            total += gap * gap;
        }
        return total;
    }
    double farthest(index_t node) const {
        const double* low = nodes_.low.data() + node * nodes_.d;
        const double* high = nodes_.high.data() + node * nodes_.d;
        double total = 0.0;
        for (index_t j = 0; j < nodes_.d; ++j) {
            const double gap = std::max(query_[j] - low[j], high[j] - query_[j]);
            total += gap * gap;
        }
        return total;
    }

    void visit(index_t node, index_t begin, index_t end, double near) {
        const bool holds_left_out = left_out_ >= begin && left_out_ < end;
        if (!holds_left_out && taken_whole(node, near)) return;
        if (tree_.column[node] < 0) return leaf(begin, end);
        const index_t left = node + 1, right = tree_.right[node], middle = middle_of(begin, end);
        const double near_left = nearest(left), near_right = nearest(right);
        if (near_left <= near_right) {
            visit(left, begin, middle, near_left);
            visit(right, middle, end, near_right);
        } else {
            visit(right, middle, end, near_right);
            visit(left, begin, middle, near_left);
        }
    }

    bool taken_whole(index_t node, double near) {
        const double weight = nodes_.weight[node];
        if (kernel_ == Kernel::gaussian) {
            if (!(sum_ > 0.0)) return false;
            const double bound = tolerance_ * sum_ / nodes_.weight[0];
            const double most = std::exp(-0.5 * inverse_ * near - top_);
            // A box that may hold more than its share cannot be taken whole unless it is small: look at its far end.
            const double least = std::exp(-0.5 * inverse_ * farthest(node) - top_);
            if (!(most - least <= bound)) return false;
            sum_ += weight * 0.5 * (most + least);
            return true;
        }
        if (near * inverse_ > 1.0 + 1e-12) return true;
        const double far = farthest(node) * inverse_;
        if (!(far < 1.0 - 1e-12)) return false;
        if (kernel_ == Kernel::box) {
            sum_ += weight;
        } else {
            const double* centre = nodes_.centre.data() + node * nodes_.d;
            double apart = 0.0;
            for (index_t j = 0; j < nodes_.d; ++j) apart += (query_[j] - centre[j]) * (query_[j] - centre[j]);
            sum_ += weight - (weight * apart + nodes_.scatter[node]) * inverse_;
        }
        return true;
    }

    void leaf(index_t begin, index_t end) {
        alignas(64) double distances[leaf_rows], weights[leaf_rows];
        const index_t panels = panel_count(end - begin), lanes = panels * panel_lanes;
        for (index_t p = 0; p < panels; ++p)
            measure_(query_, panels_[begin / panel_lanes + p], 1, nodes_.d, {}, distances + p * panel_lanes);
        const bool weighed = !nodes_.row_weight.empty();
        for (index_t i = 0; i < lanes; ++i) weights[i] = begin + i >= end ? 0.0 : weighed ? nodes_.row_weight[begin + i] : 1.0;
        if (left_out_ >= begin && left_out_ < end) weights[left_out_ - begin] = std::max(0.0, weights[left_out_ - begin] - 1.0);
        if (kernel_ == Kernel::gaussian) {
            double near = infinity;
            for (index_t i = 0; i < lanes; ++i)
                if (weights[i] > 0.0) near = std::min(near, distances[i]);
            if (near == infinity) return;
            const double scale = -0.5 * inverse_, here = scale * near;
            if (here > top_) {
                sum_ = sum_ > 0.0 ? sum_ * std::exp(top_ - here) : 0.0;
                top_ = here;
            }
            // A lane without weight may be nearer than any with weight: its term must not overflow.
            for (index_t i = 0; i < lanes; ++i) distances[i] = std::max(distances[i], near);
            sum_ += exponentials(distances, weights, lanes, scale, top_);
            return;
        }
        for (index_t i = 0; i < lanes; ++i) {
            const double u = distances[i] * inverse_;
            if (kernel_ == Kernel::box) sum_ += u <= 1.0 ? weights[i] : 0.0;
            else sum_ += weights[i] * std::max(0.0, 1.0 - u);
        }
    }

    const KdTreeView& tree_;
    neighbours::VisitedPanels& panels_;
    const Nodes& nodes_;
    Kernel kernel_;
    double tolerance_;
    neighbours::PanelDistances measure_;
    const double* query_ = nullptr;
    double inverse_ = 1.0, top_ = 0.0, sum_ = 0.0;
    index_t left_out_ = -1;
};

}  // namespace

void log_kernel_sums(const KdTreeView& tree, Kernel kernel, const double* weights, Matrix<const double> queries,
                     Vector<const double> bandwidths, const std::int64_t* left_out, double tolerance, double* sums, int threads) {
    const Nodes nodes = Summary(tree, queries.cols, weights).take();
    std::vector<index_t> place;
    if (left_out != nullptr) {
        place.resize(static_cast<std::size_t>(tree.rows.rows));
        for (index_t i = 0; i < tree.rows.rows; ++i) place[static_cast<std::size_t>(tree.order[i])] = i;
    }
    const std::vector<std::int32_t> listed = neighbours::order_of_queries(tree, queries, threads);
    neighbours::PanelsOfThreads panels(tree, threads);
    parallel_chunks(queries.rows, 64, threads, [&](index_t, index_t begin, index_t end) {
        Walk walk(tree, panels.mine(), nodes, kernel, tolerance);
        for (index_t c = begin; c < end; ++c) {
            const index_t i = listed[static_cast<std::size_t>(c)];
            const index_t own = left_out == nullptr || left_out[i] < 0 ? -1 : place[static_cast<std::size_t>(left_out[i])];
            sums[i] = walk.log_sum(queries.row(i), bandwidths[i], own);
        }
    });
}

void linear_binning(Matrix<const double> rows, const double* weights, const double* low, const double* step,
                    const std::int64_t* sizes, double* grid) {
    const index_t d = rows.cols;
    if (d == 1) {
        const double scale = 1.0 / step[0], last = static_cast<double>(sizes[0] - 1);
        const auto most = std::max<std::int64_t>(0, sizes[0] - 2);
        for (index_t i = 0; i < rows.rows; ++i) {
            const double place = std::clamp((rows(i, 0) - low[0]) * scale, 0.0, last);
            // Places are not negative: cutting the fraction off is the floor, without a call.
            const std::int64_t first = std::min(static_cast<std::int64_t>(place), most);
            const double share = place - static_cast<double>(first);
            const double weight = weights == nullptr ? 1.0 : weights[i];
            double* cell = grid + first;
            cell[0] += weight * (1.0 - share);
            if (sizes[0] > 1) cell[1] += weight * share;
        }
        return;
    }
    std::vector<std::int64_t> stride(static_cast<std::size_t>(d), 1), first(static_cast<std::size_t>(d));
    std::vector<double> share(static_cast<std::size_t>(d));
    for (index_t j = d - 1; j-- > 0;) stride[j] = stride[j + 1] * sizes[j + 1];
    for (index_t i = 0; i < rows.rows; ++i) {
        const double weight = weights == nullptr ? 1.0 : weights[i];
        for (index_t j = 0; j < d; ++j) {
            const double place = std::clamp((rows(i, j) - low[j]) / step[j], 0.0, static_cast<double>(sizes[j] - 1));
            first[j] = std::min<std::int64_t>(static_cast<std::int64_t>(place), std::max<std::int64_t>(sizes[j] - 2, 0));
            share[j] = place - static_cast<double>(first[j]);
        }
        for (unsigned corner = 0; corner < (1U << d); ++corner) {
            double part = weight;
            std::int64_t at = 0;
            for (index_t j = 0; j < d; ++j) {
                const bool upper = (corner >> j & 1U) != 0;
                part *= upper ? share[j] : 1.0 - share[j];
                at += (first[j] + (upper && sizes[j] > 1 ? 1 : 0)) * stride[j];
            }
            grid[at] += part;
        }
    }
}

}  // namespace assay::density
