#include "assay/trees/linear_leaves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "assay/common/threads.hpp"

namespace assay::trees {
namespace {

constexpr double least_pivot = 1e-10, least_residual = 1e-14, exact_fit = 1e-6;

// Means and centred cross-products of q columns and the target, which stands last.
struct Moments {
    double weight = 0;
    bool missing = false;
    std::vector<double> mean, cross;
    std::vector<std::uint8_t> seen;  // columns with a cell
    double residual = 0, parameters = 0;  // of the best subtree
};

// What is kept of a node that may stay in the tree: three lines of q numbers.
struct Kept {
    std::vector<double> numbers;     // coefficient, mean, deviation
    std::vector<std::uint8_t> seen;  // columns with a cell
};

double expected_error(double residual, double n, double v) {
    if (n <= v) return std::numeric_limits<double>::infinity();
    return std::sqrt(residual / n) * (n + v) / (n - v);
}

class NodeModels {
public:
    NodeModels(const NodeRows& tree, const LeafRows& rows, const LinearNodeOptions& options)
        : tree_(tree), rows_(rows), options_(options), q_(rows.columns.size), size_(static_cast<std::size_t>(q_) + 1) {
        const auto n = static_cast<std::size_t>(tree.left.size);
        made_.intercept.assign(n, 0);
        made_.residual.assign(n, 0);
        made_.parameters.assign(n, 1);
        made_.leaf.assign(n, 1);
        models_.resize(n);
        moments_.resize(n);
        used_.assign(n * static_cast<std::size_t>(q_), 0);
        subtree_.resize(n);
        for (std::size_t i = n; i-- > 0;) {
            const auto node = static_cast<index_t>(i);
            subtree_[i] = node + 1;
            if (tree.left[node] < 0) continue;
            subtree_[i] = subtree_[static_cast<std::size_t>(tree.right[node])];
            for (const std::int32_t child : {tree.left[node], tree.right[node]})
                for (index_t j = 0; j < q_; ++j) used(node)[j] |= used(child)[j];
            if (tree.tested[i] >= 0) used(node)[tree.tested[i]] = 1;
        }
        if (options_.all_columns) std::fill(used_.begin(), used_.end(), std::uint8_t{1});
    }

    LinearNodes run(int threads) {
        const index_t n = tree_.left.size, count = rows_.order.size, small = std::max<index_t>(256, count / 8);
        double mean = 0, weight = 0, spread = 0;
        for (index_t i = 0; i < count; ++i) {
            mean += weight_of(i) * y_of(i);
            weight += weight_of(i);
        }
        mean /= weight;
        for (index_t i = 0; i < count; ++i) spread += weight_of(i) * (y_of(i) - mean) * (y_of(i) - mean);
        tiny_ = exact_fit * std::sqrt(spread / weight);
        std::vector<index_t> tasks, top;
        for (index_t node = 0; node < n;) {
            const auto at = static_cast<std::size_t>(node);
            if (tree_.end[at] - tree_.begin[at] <= small) {
                tasks.push_back(node);
                node = subtree_[at];
            } else {
                top.push_back(node++);
            }
        }
        parallel_chunks(static_cast<index_t>(tasks.size()), 1, threads, [&](index_t c, index_t, index_t) {
            const index_t first = tasks[static_cast<std::size_t>(c)];
            for (index_t node = subtree_[static_cast<std::size_t>(first)]; node-- > first;) fit(node);
        });
        for (std::size_t i = top.size(); i-- > 0 && !interrupted();) fit(top[i]);
        moments_.clear();
        gather();
        return std::move(made_);
    }

private:
    double weight_of(index_t i) const { return rows_.weights != nullptr ? rows_.weights[rows_.order[i]] : 1.0; }
    double y_of(index_t i) const { return rows_.y[rows_.order[i]]; }
    const double* row_of(index_t i) const { return rows_.cells.row(rows_.order[i]); }
    double* coefficient(index_t node) { return models_[static_cast<std::size_t>(node)].numbers.data(); }
    double* mean(index_t node) { return coefficient(node) + q_; }
    double* deviation(index_t node) { return coefficient(node) + 2 * q_; }
    Moments& moments(std::int32_t node) { return *moments_[static_cast<std::size_t>(node)]; }
    std::uint8_t* used(index_t node) { return used_.data() + node * q_; }

    void fit(index_t node) {
        const auto at = static_cast<std::size_t>(node);
        const std::int32_t left = tree_.left[node], right = tree_.right[node];
        moments_[at] = std::make_unique<Moments>();
        Moments& here = *moments_[at];
        if (left >= 0 && !moments(left).missing && !moments(right).missing) {
            join(moments(left), moments(right), here);
        } else {
            measure(tree_.begin[at], tree_.end[at], here);
        }
        models_[at].numbers.assign(3 * static_cast<std::size_t>(q_), 0.0);
        models_[at].seen.assign(here.seen.begin(), here.seen.begin() + q_);
        std::copy_n(here.mean.begin(), q_, mean(node));
        for (std::size_t j = 0; j + 1 < size_; ++j) deviation(node)[j] = std::sqrt(here.cross[j * size_ + j] / here.weight);
        solve(node, here);
        here.residual = made_.residual[at];
        here.parameters = made_.parameters[at];
        if (left < 0) return;
        const Moments &l = moments(left), &r = moments(right);
        const double below = l.residual + r.residual, v = l.parameters + r.parameters + 1;
        const double alone = expected_error(here.residual, here.weight, here.parameters);
        const bool cut = tree_.stop[at] != 0 ||
                         (options_.prune && (alone <= expected_error(below, here.weight, v) || alone <= tiny_));
        made_.leaf[at] = cut;
        if (!cut) {
            here.residual = below;
            here.parameters = v;
        }
        for (const std::int32_t child : {left, right}) moments_[static_cast<std::size_t>(child)].reset();
        if (cut && !options_.keep_all) forget_below(node);
    }

    // Models below a leaf of the result are not needed; those below a leaf that was one before are gone.
    void forget_below(index_t node) {
        std::vector<std::int32_t> waiting{tree_.left[node], tree_.right[node]};
        while (!waiting.empty()) {
            const std::int32_t below = waiting.back();
            waiting.pop_back();
            models_[static_cast<std::size_t>(below)] = Kept{};
            if (made_.leaf[static_cast<std::size_t>(below)] != 0) continue;
            waiting.push_back(tree_.left[below]);
            waiting.push_back(tree_.right[below]);
        }
    }

    void measure(index_t begin, index_t end, Moments& here) const {
        here.mean.assign(size_, 0.0);
        here.cross.assign(size_ * size_, 0.0);
        here.seen.assign(size_, 1);
        // Means of differences from the first cell, so that a constant column has exactly its value as mean.
        std::vector<double> present(size_, 0.0), row(size_), first(size_, 0.0);
        first[size_ - 1] = y_of(begin);
        const std::int32_t* column = rows_.columns.data;
        for (index_t i = begin; i < end; ++i) {
            const double w = weight_of(i), *cells = row_of(i);
            here.weight += w;
            here.mean[size_ - 1] += w * (y_of(i) - first[size_ - 1]);
            for (std::size_t j = 0; j + 1 < size_; ++j) {
                const double x = cells[column[j]];
                if (x != x) {
                    here.missing = true;
                    continue;
                }
                if (present[j] == 0) first[j] = x;
                here.mean[j] += w * (x - first[j]);
                present[j] += w;
            }
        }
        present[size_ - 1] = here.weight;
        for (std::size_t j = 0; j < size_; ++j) {
            here.seen[j] = present[j] > 0;
            here.mean[j] = present[j] > 0 ? first[j] + here.mean[j] / present[j] : 0.0;
        }
        for (index_t i = begin; i < end; ++i) {
            const double w = weight_of(i), *cells = row_of(i);
            for (std::size_t j = 0; j + 1 < size_; ++j) {
                const double x = cells[column[j]];
                row[j] = x == x ? x - here.mean[j] : 0.0;
            }
            row[size_ - 1] = y_of(i) - here.mean[size_ - 1];
            for (std::size_t j = 0; j < size_; ++j) {
                const double scaled = w * row[j];
                double* out = here.cross.data() + j * size_;
                for (std::size_t k = 0; k <= j; ++k) out[k] += scaled * row[k];
            }
        }
    }

    void join(const Moments& l, const Moments& r, Moments& here) const {
        here.weight = l.weight + r.weight;
        here.mean.resize(size_);
        here.seen.assign(size_, 1);
        here.cross.resize(size_ * size_);
        const double factor = l.weight * r.weight / here.weight;
        for (std::size_t j = 0; j < size_; ++j)
            here.mean[j] = l.mean[j] + r.weight / here.weight * (r.mean[j] - l.mean[j]);
        for (std::size_t j = 0; j < size_; ++j) {
            const double scaled = factor * (r.mean[j] - l.mean[j]);
            for (std::size_t k = 0; k <= j; ++k)
                here.cross[j * size_ + k] =
                    l.cross[j * size_ + k] + r.cross[j * size_ + k] + scaled * (r.mean[k] - l.mean[k]);
        }
    }

    void solve(index_t node, const Moments& here) {
        const auto at = static_cast<std::size_t>(node);
        const double total = here.cross[size_ * size_ - 1];
        made_.intercept[at] = here.mean[size_ - 1];
        made_.residual[at] = std::max(0.0, total);
        std::vector<std::size_t> columns;
        std::vector<double> scale;
        for (index_t j = 0; j < q_; ++j) {
            const auto c = static_cast<std::size_t>(j);
            const double own = here.cross[c * size_ + c], noise = 1e-13 * std::abs(here.mean[c]);
            if (used(node)[j] == 0 || !(own > here.weight * noise * noise) || !std::isfinite(own)) continue;
            columns.push_back(c);
            scale.push_back(std::sqrt(own));
        }
        const double y_noise = 1e-14 * std::abs(here.mean[size_ - 1]);
        if (columns.empty() || !(total > here.weight * y_noise * y_noise) || !std::isfinite(total)) return;
        columns.push_back(size_ - 1);
        scale.push_back(std::sqrt(total));
        const std::size_t m = columns.size();
        std::vector<double> a(m * m);
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t k = 0; k <= i; ++k)
                a[i * m + k] = a[k * m + i] = i == k ? 1.0 : here.cross[columns[i] * size_ + columns[k]] / (scale[i] * scale[k]);
        std::vector<std::uint8_t> inside(m, 0);
        std::size_t count = 0;
        for (;; ++count) {
            std::size_t next = m;
            double largest = least_pivot;
            for (std::size_t k = 0; k + 1 < m; ++k) {
                if (inside[k] == 0 && a[k * m + k] > largest) {
                    largest = a[k * m + k];
                    next = k;
                }
            }
            if (next == m) break;
            sweep(a, m, next);
            inside[next] = 1;
        }
        if (options_.drop) count = drop_columns(a, m, inside, count, here.weight);
        const double residual = std::max(0.0, a[m * m - 1]);
        double intercept = here.mean[size_ - 1], sizes = std::abs(intercept);
        for (std::size_t k = 0; k + 1 < m; ++k) {
            if (inside[k] == 0) continue;
            const double b = a[k * m + m - 1] * scale[m - 1] / scale[k];
            coefficient(node)[columns[k]] = b;
            intercept -= b * here.mean[columns[k]];
            sizes += std::abs(b * here.mean[columns[k]]);
        }
        made_.intercept[at] = std::abs(intercept) > 1e-14 * sizes ? intercept : 0.0;  // rounding alone is no intercept
        made_.residual[at] = residual * total;
        made_.parameters[at] = static_cast<double>(count) + 1;
    }

    static void sweep(std::vector<double>& a, std::size_t m, std::size_t k) {
        const double d = a[k * m + k];
        for (std::size_t i = 0; i < m; ++i) {
            if (i == k) continue;
            const double b = a[i * m + k] / d;
            for (std::size_t j = 0; j < m; ++j)
                if (j != k) a[i * m + j] -= b * a[k * m + j];
            a[i * m + k] = -b;
        }
        for (std::size_t j = 0; j < m; ++j)
            if (j != k) a[k * m + j] /= d;
        a[k * m + k] = 1 / d;
    }

    static std::size_t drop_columns(std::vector<double>& a, std::size_t m, std::vector<std::uint8_t>& inside,
                                    std::size_t count, double n) {
        while (count > 0) {
            std::size_t least = m;
            double rise = std::numeric_limits<double>::infinity();
            for (std::size_t k = 0; k + 1 < m; ++k) {
                if (inside[k] == 0) continue;
                const double here = a[k * m + m - 1] * a[k * m + m - 1] / a[k * m + k];
                if (here < rise || least == m) {
                    rise = here;
                    least = k;
                }
            }
            const double now = std::max(least_residual, a[m * m - 1]), v = static_cast<double>(count) + 1;
            const double then = std::max(least_residual, a[m * m - 1] + rise);
            if (!(expected_error(then, n, v - 1) <= expected_error(now, n, v))) break;
            sweep(a, m, least);
            inside[least] = 0;
            --count;
        }
        return count;
    }

    // The models of the nodes that are kept. A column without cells in a node has the mean of the node above.
    void gather() {
        const index_t n = tree_.left.size;
        std::vector<std::int32_t> above(static_cast<std::size_t>(n), -1);  // place of the node above among the kept ones
        std::vector<std::uint8_t> gone(static_cast<std::size_t>(n), 0);
        for (index_t node = 0; node < n; ++node) {
            const auto at = static_cast<std::size_t>(node);
            const auto place = static_cast<std::int32_t>(made_.kept.size());
            if (gone[at] == 0) made_.kept.push_back(static_cast<std::int32_t>(node));
            if (tree_.left[node] < 0) continue;
            for (const std::int32_t child : {tree_.left[node], tree_.right[node]}) {
                gone[static_cast<std::size_t>(child)] = gone[at] != 0 || (made_.leaf[at] != 0 && !options_.keep_all);
                above[static_cast<std::size_t>(child)] = place;
            }
        }
        const std::size_t size = made_.kept.size() * static_cast<std::size_t>(q_);
        for (auto* lines : {&made_.coefficient, &made_.mean, &made_.deviation}) lines->assign(size, 0.0);
        for (std::size_t k = 0; k < made_.kept.size(); ++k) {
            const std::int32_t node = made_.kept[k];
            Kept& model = models_[static_cast<std::size_t>(node)];
            if (model.numbers.empty()) continue;  // interrupted, or no columns
            const auto to = static_cast<index_t>(k) * q_;
            std::copy_n(coefficient(node), q_, made_.coefficient.begin() + to);
            std::copy_n(mean(node), q_, made_.mean.begin() + to);
            std::copy_n(deviation(node), q_, made_.deviation.begin() + to);
            const index_t from = static_cast<index_t>(above[static_cast<std::size_t>(node)]) * q_;
            for (index_t j = 0; j < q_ && node > 0; ++j)
                if (model.seen[static_cast<std::size_t>(j)] == 0)
                    made_.mean[static_cast<std::size_t>(to + j)] = made_.mean[static_cast<std::size_t>(from + j)];
            model = Kept{};
        }
    }

    const NodeRows& tree_;
    const LeafRows& rows_;
    const LinearNodeOptions options_;
    const index_t q_;
    const std::size_t size_;
    double tiny_ = 0;
    LinearNodes made_;
    std::vector<Kept> models_;
    std::vector<std::unique_ptr<Moments>> moments_;  // of nodes whose parent is still to come
    std::vector<std::uint8_t> used_;
    std::vector<index_t> subtree_;  // the node after the last one below
};

}  // namespace

LinearNodes fit_linear_nodes(const NodeRows& tree, const LeafRows& rows, const LinearNodeOptions& options, int threads) {
    return NodeModels(tree, rows, options).run(threads);
}

void linear_leaf_values(Vector<const std::int32_t> leaf, const double* intercept, Matrix<const double> coefficient,
                        Matrix<const double> fill, Vector<const std::int32_t> columns, Matrix<const double> cells,
                        Vector<double> value, int threads) {
    if (cells.rows < 16384) threads = 1;
    parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            const double *x = cells.row(i), *b = coefficient.row(leaf[i]), *m = fill.row(leaf[i]);
            double sum = intercept[leaf[i]];
            for (index_t j = 0; j < columns.size; ++j) {
                if (b[j] == 0) continue;
                const double cell = x[columns[j]];
                sum += b[j] * (cell == cell ? cell : m[j]);
            }
            value[i] = sum;
        }
    });
}

}  // namespace assay::trees
