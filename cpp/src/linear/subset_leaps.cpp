#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/interrupt.hpp"
#include "assay/linear/subset.hpp"

namespace assay {
namespace {

constexpr double pivot_tolerance = 1e-10;
constexpr double jitter = 1e-10;
// Below this number of free columns, sorting a node costs more than the nodes it saves.
constexpr index_t least_sorted = 4;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// Free columns of a node with the target behind them, as an upper triangle of side free + 1; rows of columns that stay
// are not needed: their part of the target is explained in every subset below.
struct Node {
    std::vector<index_t> free;
    std::vector<double> factor;  // side x side, C-ordered
    std::uint64_t stays = 0;
    index_t stay_count = 0;

    index_t side() const { return static_cast<index_t>(free.size()) + 1; }
    double& operator()(index_t i, index_t j) { return factor[at(i * side() + j)]; }
    double operator()(index_t i, index_t j) const { return factor[at(i * side() + j)]; }
};

// Rotates rows `upper` and `upper + 1` of a matrix with `width` columns so that (upper + 1, column) becomes zero.
void rotate(double* matrix, index_t width, index_t upper, index_t column) {
    double* top = matrix + upper * width;
    double* below = top + width;
    const double length = std::sqrt(top[column] * top[column] + below[column] * below[column]);
    if (length == 0) return;
    const double c = top[column] / length, s = below[column] / length;
    for (index_t j = column; j < width; ++j) {
        const double a = top[j], b = below[j];
        top[j] = c * a + s * b;
        below[j] = c * b - s * a;
    }
    below[column] = 0;
}

// The node without free column t, keeping those before it for good.
void drop(const Node& node, index_t t, Node& child) {
    const index_t side = node.side(), width = side - t - 1;  // columns of the child, target included
    child.stays = node.stays;
    for (index_t j = 0; j < t; ++j) child.stays |= std::uint64_t{1} << node.free[at(j)];
    child.stay_count = node.stay_count + t;
    child.free.assign(node.free.begin() + t + 1, node.free.end());
    child.factor.resize(at((width + 1) * width));
    for (index_t i = 0; i <= width; ++i)
        for (index_t j = 0; j < width; ++j) child.factor[at(i * width + j)] = node(t + i, t + 1 + j);
    for (index_t j = 0; j < width; ++j) rotate(child.factor.data(), width, j, j);
    child.factor.resize(at(width * width));
}

class Search {
public:
    Search(index_t smallest, index_t largest, index_t keep) {
        best_.smallest = smallest;
        best_.largest = largest;
        best_.keep = keep;
        const auto entries = at((largest - smallest + 1) * keep);
        best_.members.assign(entries, 0);
        best_.error.assign(entries, std::numeric_limits<double>::infinity());
    }

    BestSubsets take() { return std::move(best_); }
    void mark_singular() { best_.singular = true; }

    void offer(std::uint64_t members, index_t size, double error) {
        if (size < best_.smallest || size > best_.largest || !(error < worst(size))) return;
        const index_t begin = (size - best_.smallest) * best_.keep;
        for (index_t r = 0; r < best_.keep; ++r)
            if (best_.members[at(begin + r)] == members) return;
        index_t r = best_.keep - 1;
        for (; r > 0 && best_.error[at(begin + r - 1)] > error; --r) {
            best_.error[at(begin + r)] = best_.error[at(begin + r - 1)];
            best_.members[at(begin + r)] = best_.members[at(begin + r - 1)];
        }
        best_.error[at(begin + r)] = error;
        best_.members[at(begin + r)] = members;
    }

    // Errors of the leading subsets of a node, from the target's column of its factor.
    void offer_leading(const Node& node) {
        const index_t side = node.side(), target = side - 1;
        std::uint64_t members = node.stays;
        for (index_t id : node.free) members |= std::uint64_t{1} << id;
        double error = node(target, target) * node(target, target);
        for (index_t size = target; size > 0; --size) {
            offer(members, node.stay_count + size, error);
            error += node(size - 1, target) * node(size - 1, target);
            members &= ~(std::uint64_t{1} << node.free[at(size - 1)]);
        }
    }

    void explore(Node& node, index_t depth) {
        if (++best_.nodes % 1024 == 0) stopped_ = stopped_ || interrupted();
        const index_t free = node.side() - 1;
        if (free < 2 || stopped_ || node.stay_count >= best_.largest) return;
        std::vector<double> without = errors_without(node);
        if (free >= least_sorted) {
            sort_free(node, without);
            offer_leading(node);
        }
        if (at(depth) >= levels_.size()) levels_.resize(at(depth) + 1);
        for (index_t t = free - 2; t >= 0; --t) {
            if (!promising(node.stay_count + t + 1, node.stay_count + free - 1, without[at(t)])) continue;
            Node child = std::move(levels_[at(depth)]);
            drop(node, t, child);
            offer_leading(child);
            explore(child, depth + 1);
            levels_[at(depth)] = std::move(child);
        }
    }

    // Error of the node's whole set without each free column: that of the set plus b^2 / V.
    std::vector<double> errors_without(const Node& node) const {
        const index_t free = node.side() - 1;
        const double error = node(free, free) * node(free, free);
        std::vector<double> out(at(free)), row(at(free));
        // Row i of R^{-1} solves x R = e_i, from the left.
        for (index_t i = 0; i < free; ++i) {
            double squares = 0, b = 0;
            std::fill(row.begin() + i, row.end(), 0.0);
            row[at(i)] = 1;
            for (index_t j = i; j < free; ++j) {
                const double* from = node.factor.data() + j * node.side();
                const double value = row[at(j)] / from[j];
                squares += value * value;
                b += value * from[free];
                for (index_t c = j + 1; c < free; ++c) row[at(c)] -= value * from[c];
            }
            out[at(i)] = error + b * b / squares;
        }
        return out;
    }

    // Orders the free columns by the error without them, largest first, and makes the factor triangular again.
    void sort_free(Node& node, std::vector<double>& without) {
        const index_t side = node.side(), free = side - 1;
        order_.resize(at(free));
        std::iota(order_.begin(), order_.end(), index_t{0});
        std::stable_sort(order_.begin(), order_.end(),
                         [&](index_t a, index_t b) { return without[at(a)] > without[at(b)]; });
        if (std::is_sorted(order_.begin(), order_.end())) return;
        scratch_.assign(at(side * side), 0.0);
        const std::vector<index_t> ids(node.free);
        const std::vector<double> errors(without);
        for (index_t j = 0; j < side; ++j) {
            const index_t from = j < free ? order_[at(j)] : free;
            for (index_t i = 0; i <= from; ++i) scratch_[at(i * side + j)] = node(i, from);
            if (j < free) {
                node.free[at(j)] = ids[at(from)];
                without[at(j)] = errors[at(from)];
            }
        }
        for (index_t j = 0; j < free; ++j) reflect(scratch_.data(), side, j);
        std::swap(node.factor, scratch_);
    }

private:
    double worst(index_t size) const { return best_.error[at((size - best_.smallest + 1) * best_.keep - 1)]; }

    bool promising(index_t from, index_t to, double bound) const {
        for (index_t size = std::max(from, best_.smallest); size <= std::min(to, best_.largest); ++size)
            if (bound < worst(size)) return true;
        return false;
    }

    // Householder reflection that makes column j zero below row j.
    void reflect(double* matrix, index_t side, index_t j) {
        double length = 0;
        for (index_t i = j; i < side; ++i) length += matrix[i * side + j] * matrix[i * side + j];
        length = std::sqrt(length);
        if (length == 0) return;
        const double head = matrix[j * side + j], alpha = head > 0 ? -length : length;
        const double scale = 1.0 / (alpha * (alpha - head));
        mirror_.resize(at(side));
        sums_.assign(at(side), 0.0);
        for (index_t i = j; i < side; ++i) mirror_[at(i)] = matrix[i * side + j] - (i == j ? alpha : 0.0);
        for (index_t i = j; i < side; ++i)
            for (index_t c = j; c < side; ++c) sums_[at(c)] += mirror_[at(i)] * matrix[i * side + c];
        for (index_t i = j; i < side; ++i)
            for (index_t c = j; c < side; ++c) matrix[i * side + c] -= mirror_[at(i)] * scale * sums_[at(c)];
        for (index_t i = j + 1; i < side; ++i) matrix[i * side + j] = 0;
    }

    BestSubsets best_;
    bool stopped_ = false;
    std::vector<Node> levels_;
    std::vector<index_t> order_;
    std::vector<double> scratch_, mirror_, sums_;
};

// Upper triangular R with R'R = matrix; false if a column's pivot is below the tolerance.
bool cholesky(const double* matrix, index_t columns, double added, std::vector<double>& factor) {
    const index_t side = columns + 1;
    factor.assign(at(side * side), 0.0);
    for (index_t i = 0; i < side; ++i) {
        for (index_t j = i; j < side; ++j) {
            double value = matrix[i * side + j] + (i == j && i < columns ? added : 0.0);
            for (index_t m = 0; m < i; ++m) value -= factor[at(m * side + i)] * factor[at(m * side + j)];
            if (i < j) {
                factor[at(i * side + j)] = value / factor[at(i * side + i)];
            } else if (i == columns) {
                factor[at(i * side + i)] = std::sqrt(std::max(value, 0.0));
            } else {
                if (!(value > (added > 0 ? 0.1 * added : pivot_tolerance))) return false;
                factor[at(i * side + i)] = std::sqrt(value);
            }
        }
    }
    return true;
}

// Greedy chains forward and backward, for the first bounds.
void greedy_chains(const double* gram, index_t columns, index_t fixed, Search& search) {
    for (const bool forward : {true, false}) {
        SubsetSweep sweep(columns, {{gram, nullptr}}, pivot_tolerance, !forward, 1);
        std::uint64_t members = 0;
        index_t size = 0;
        for (index_t j = 0; j < (forward ? fixed : columns); ++j, ++size) {
            sweep.add(j);
            members |= std::uint64_t{1} << j;
        }
        std::vector<double> scores(at(columns));
        while (true) {
            const Matrix<double> out = c_matrix(scores.data(), 1, columns);
            forward ? sweep.additions(out) : sweep.removals(out);
            index_t chosen = -1;
            for (index_t j = fixed; j < columns; ++j)
                if (scores[at(j)] == scores[at(j)] && (chosen < 0 || scores[at(j)] < scores[at(chosen)])) chosen = j;
            if (chosen < 0) break;
            forward ? sweep.add(chosen) : sweep.remove(chosen);
            members ^= std::uint64_t{1} << chosen;
            size += forward ? 1 : -1;
            search.offer(members, size, scores[at(chosen)]);
        }
    }
}

}  // namespace

BestSubsets best_subsets(const double* gram, index_t columns, index_t fixed, index_t smallest, index_t largest,
                         index_t keep) {
    Search search(smallest, largest, keep);
    std::vector<double> factor;
    const bool regular = cholesky(gram, columns, 0.0, factor);
    if (!regular) {
        search.mark_singular();
        if (!cholesky(gram, columns, jitter, factor)) return search.take();
    }
    // Errors of the chains are exact, those of a jittered factor a little above: the chains would hide equal subsets.
    if (regular) greedy_chains(gram, columns, fixed, search);
    Node root;
    const index_t side = columns - fixed + 1;
    for (index_t j = 0; j < fixed; ++j) root.stays |= std::uint64_t{1} << j;
    root.stay_count = fixed;
    for (index_t j = fixed; j < columns; ++j) root.free.push_back(j);
    root.factor.resize(at(side * side));
    for (index_t i = 0; i < side; ++i)
        for (index_t j = 0; j < side; ++j) root(i, j) = factor[at((fixed + i) * (columns + 1) + fixed + j)];
    if (fixed >= smallest) {
        double error = 0;
        for (index_t i = 0; i < side; ++i) error += root(i, side - 1) * root(i, side - 1);
        search.offer(root.stays, fixed, error);
    }
    search.offer_leading(root);
    search.explore(root, 0);
    return search.take();
}

}  // namespace assay
