#include "assay/trees/linear_splits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/cholesky.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "entries.hpp"

namespace assay::trees {
namespace {

constexpr index_t most_columns = 24, most_width = 32, first_places = 16, next_places = 6, sampled = 8192, finalists = 4;
constexpr double ridge = 0.1, side_share = 1.2, near_best = 1.1, exact_fit = 1e-12, constant = 1e-12, tie = 1e-10;
constexpr double infinity = std::numeric_limits<double>::infinity();

// sums += scale w z z' over the rows listed, z = (the row of `rows`, 1, zeros up to `width`); whole lines of eight up to the diagonal.
ASSAY_INLINE void add_rows_body(const float* rows, index_t given, const Wide* entries, index_t count, const double* weights,
                                double scale, index_t width, double* sums) {
    constexpr int together = 4;
    double z[together * most_width] = {}, w[together] = {};
    for (index_t i = 0; i < count; i += together) {
        for (int r = 0; r < together; ++r) {
            w[r] = 0;
            if (i + r >= count) continue;
            const index_t at = row_of(entries[i + r]);
            for (index_t t = 0; t < given; ++t) z[r * width + t] = rows[at * given + t];
            z[r * width + given] = 1;
            w[r] = weights != nullptr ? scale * weights[at] : scale;
        }
        for (index_t a = 0; a <= given; ++a) {
            const double w0 = w[0] * z[a], w1 = w[1] * z[width + a], w2 = w[2] * z[2 * width + a], w3 = w[3] * z[3 * width + a];
            double* out = sums + a * width;
            const index_t end = a / 8 * 8 + 8;
            for (index_t t = 0; t < end; ++t)
                out[t] += (w0 * z[t] + w1 * z[width + t]) + (w2 * z[2 * width + t] + w3 * z[3 * width + t]);
        }
    }
}
ASSAY_DISPATCH(void, add_rows, add_rows_body,
               (const float* rows, index_t given, const Wide* entries, index_t count, const double* weights, double scale, index_t width,
                double* sums),
               (rows, given, entries, count, weights, scale, width, sums))

struct Node {
    index_t begin = 0, end = 0, depth = 0;
    std::int32_t parent = -1;
    bool is_right = false;
    index_t size() const { return end - begin; }
};

struct Best {
    double cost = infinity;
    std::int32_t column = -1;
    index_t count = 0;  // present entries on the left, in the order of the column
    bool missing_left = false;
};

// A column in a node: its present entries in order, the places where it may be cut, and its missing entries.
struct Column {
    const Wide *entries = nullptr, *missing = nullptr;
    index_t present = 0, absent = 0;
    double scale = 1, missing_scale = 1;  // how many rows an entry stands for
    std::vector<Wide> own;                // the entries, where they are not those of the node
    std::vector<std::int32_t> cuts;       // entries on the left
    std::vector<double> rows_left;        // of each cut
    std::vector<double> total, missing_sums;
    double missing_rows = 0;
};

class PlaneGrower {
public:
    PlaneGrower(const tables::CodedColumns& columns, Wide* order, Vector<const std::int32_t> rows, const CartTarget& target,
                const LinearSplitOptions& options)
        : columns_(columns), order_(order), rows_(rows), target_(target), options_(options), n_(rows.size),
          d_(columns.n_columns()), side_(static_cast<std::size_t>(n_)) {
        for (index_t j = 0; j < d_; ++j) {
            if (columns.nominal(j)) any_nominal_ = true;
            else numeric_.push_back(static_cast<std::int32_t>(j));
        }
        k_ = std::min(static_cast<index_t>(numeric_.size()), most_columns);
        given_ = k_ + 1;
        width_ = (given_ + 1 + 7) / 8 * 8;
        z_.resize(static_cast<std::size_t>(n_ * given_));
        if (any_nominal_) residual_.resize(static_cast<std::size_t>(n_));
        least_weight_ = side_share * static_cast<double>(numeric_.size() + 1);
    }

    Tree run() {
        std::vector<Node> stack{{0, n_, 0, -1, false}};
        while (!stack.empty() && !interrupted()) {
            const Node node = stack.back();
            stack.pop_back();
            const std::int32_t id = write_node(node);
            const Best best = split(node, id);
            if (best.column < 0) continue;
            const index_t middle = node.begin + send(node, id, best);
            stack.push_back({middle, node.end, node.depth + 1, id, true});
            stack.push_back({node.begin, middle, node.depth + 1, id, false});
        }
        return std::move(tree_);
    }

private:
    Wide* segment(index_t j, const Node& node) const { return order_ + j * n_ + node.begin; }
    double weight_of(index_t at) const { return target_.weights != nullptr ? target_.weights[at] : 1.0; }
    double rows_of(index_t at) const { return target_.repeats != nullptr ? target_.repeats[at] : 1.0; }
    double value(index_t at, index_t j) const { return columns_.value(rows_[at], j); }
    int threads(const Node& node) const { return node.size() * d_ < 4096 ? 1 : options_.threads; }
    std::vector<double> no_sums() const { return std::vector<double>(static_cast<std::size_t>((given_ + 1) * width_), 0.0); }
    double total_weight(const double* sums) const { return sums[given_ * width_ + given_]; }
    void add(const Wide* entries, index_t count, double scale, double* sums) const {
        add_rows(z_.data(), given_, entries, count, target_.weights, scale, width_, sums);
    }

    std::int32_t write_node(const Node& node) {
        const auto id = static_cast<std::int32_t>(tree_.feature.size());
        if (node.parent >= 0) (node.is_right ? tree_.right : tree_.left)[static_cast<std::size_t>(node.parent)] = id;
        const Wide* entries = segment(0, node);
        const double first = target_.y[row_of(entries[0])];
        double weight = 0, rows = 0, mean = 0, spread = 0;
        for (index_t i = 0; i < node.size(); ++i) {
            const index_t at = row_of(entries[i]);
            weight += weight_of(at);
            rows += rows_of(at);
            mean += weight_of(at) * (target_.y[at] - first);
        }
        mean = first + mean / weight;
        for (index_t i = 0; i < node.size(); ++i) {
            const index_t at = row_of(entries[i]);
            spread += weight_of(at) * (target_.y[at] - mean) * (target_.y[at] - mean);
        }
        if (id == 0) whole_spread_ = spread;
        tree_.feature.push_back(-1);
        tree_.left.push_back(-1);
        tree_.right.push_back(-1);
        tree_.threshold.push_back(0);
        tree_.categories.push_back(-1);
        tree_.missing_left.push_back(0);
        tree_.impurity.push_back(spread / weight);
        tree_.rows.push_back(rows);
        tree_.weight.push_back(weight);
        tree_.value.push_back(mean);
        return id;
    }

    Best split(const Node& node, std::int32_t id) {
        const auto at = static_cast<std::size_t>(id);
        Best best;
        if (node.depth == options_.max_depth || tree_.rows[at] < std::max(options_.min_split, 2 * options_.min_leaf) ||
            tree_.weight[at] < 2 * least_weight_)
            return best;
        centre(node, tree_.value[at]);
        total_ = no_sums();
        add(segment(0, node), node.size(), 1.0, total_.data());
        std::vector<double> factor;
        const double own = cost(total_.data(), factor);
        if (!(own > exact_fit * whole_spread_)) return best;
        if (any_nominal_) find_residuals(node, factor);
        std::vector<Best> found(static_cast<std::size_t>(d_));
        const auto search = [&](double limit, bool to_the_end) {
            parallel_chunks(d_, 1, threads(node), [&](index_t j, index_t, index_t) {
                Best& here = found[static_cast<std::size_t>(j)];
                here = here.cost <= limit ? look(node, j, to_the_end) : Best{};
            });
        };
        search(infinity, false);
        std::vector<double> costs;
        for (const Best& one : found) costs.push_back(one.cost);
        std::sort(costs.begin(), costs.end());
        if (!(costs[0] < infinity)) return best;
        search(std::min(near_best * costs[0], costs[static_cast<std::size_t>(std::min(d_, finalists)) - 1]), true);
        for (const Best& one : found)
            if (one.cost < (best.column < 0 ? own * (1 - tie) : best.cost - tie * best.cost)) best = one;
        return best;
    }

    // z: cells of the columns of this node's planes less their means, and the target less its mean.
    void centre(const Node& node, double target_mean) {
        const Wide* entries = segment(0, node);
        const auto q = numeric_.size();
        std::vector<double> mean(q, 0.0), present(q, 0.0);
        for (index_t i = 0; i < node.size(); ++i) {
            const index_t at = row_of(entries[i]);
            for (std::size_t c = 0; c < q; ++c) {
                const double x = value(at, numeric_[c]);
                if (x != x) continue;
                present[c] += weight_of(at);
                mean[c] += weight_of(at) / present[c] * (x - mean[c]);
            }
        }
        std::vector<std::size_t> used(static_cast<std::size_t>(k_));
        std::iota(used.begin(), used.end(), std::size_t{0});
        if (static_cast<index_t>(q) > k_) used = select(node, mean, target_mean);
        for (index_t i = 0; i < node.size(); ++i) {
            const index_t at = row_of(entries[i]);
            float* z = z_.data() + at * given_;
            for (const std::size_t c : used) {
                const double x = value(at, numeric_[c]);
                *z++ = x == x ? static_cast<float>(x - mean[c]) : 0.0F;
            }
            *z = static_cast<float>(target_.y[at] - target_mean);
        }
    }

    // Forward selection: each time the column that correlates most with what the planes so far leave of the target.
    std::vector<std::size_t> select(const Node& node, const std::vector<double>& mean, double target_mean) const {
        const auto n = static_cast<std::size_t>(node.size()), q = numeric_.size();
        const Wide* entries = segment(0, node);
        const auto cell = [&](std::size_t i, std::size_t c) {
            const double x = value(row_of(entries[i]), numeric_[c]);
            return x == x ? x - mean[c] : 0.0;
        };
        std::vector<double> left(n), squares(q, 0.0);
        std::vector<std::vector<double>> directions;
        for (std::size_t i = 0; i < n; ++i) {
            left[i] = target_.y[row_of(entries[i])] - target_mean;
            for (std::size_t c = 0; c < q; ++c) squares[c] += weight_of(row_of(entries[i])) * cell(i, c) * cell(i, c);
        }
        const auto product = [&](const std::vector<double>& a, const std::vector<double>& b) {
            double sum = 0;
            for (std::size_t i = 0; i < n; ++i) sum += weight_of(row_of(entries[i])) * a[i] * b[i];
            return sum;
        };
        std::vector<std::size_t> used;
        std::vector<std::uint8_t> taken(q, 0);
        while (static_cast<index_t>(used.size()) < k_) {
            std::vector<double> with(q, 0.0);
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t c = 0; c < q; ++c) with[c] += weight_of(row_of(entries[i])) * left[i] * cell(i, c);
            std::size_t next = q;
            double most = -1;
            for (std::size_t c = 0; c < q; ++c) {
                const double share = squares[c] > 0 ? with[c] * with[c] / squares[c] : 0.0;
                if (taken[c] != 0 || !(share > most)) continue;
                most = share;
                next = c;
            }
            if (next == q) next = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), 0) - taken.begin());
            taken[next] = 1;
            used.push_back(next);
            std::vector<double> direction(n);
            for (std::size_t i = 0; i < n; ++i) direction[i] = cell(i, next);
            for (const auto& before : directions) {
                const double along = product(before, direction);
                for (std::size_t i = 0; i < n; ++i) direction[i] -= along * before[i];
            }
            const double length = std::sqrt(product(direction, direction));
            if (!(length * length > constant * squares[next])) continue;
            for (double& part : direction) part /= length;
            const double along = product(direction, left);
            for (std::size_t i = 0; i < n; ++i) left[i] -= along * direction[i];
            directions.push_back(std::move(direction));
        }
        std::sort(used.begin(), used.end());
        return used;
    }

    // R ((n + v) / (n - v))^2 of the rows with these sums. OUT factor: the Cholesky factor of columns and target.
    double cost(const double* sums, std::vector<double>& factor) const {
        const double n = total_weight(sums), v = static_cast<double>(given_);
        if (!(n > v)) return infinity;
        const double* ones = sums + given_ * width_;
        factor.resize(static_cast<std::size_t>(given_ * given_));
        for (index_t a = 0; a < given_; ++a) {
            double* line = factor.data() + a * given_;
            for (index_t b = 0; b <= a; ++b) line[b] = sums[a * width_ + b] - ones[a] * ones[b] / n;
            if (a == k_) break;
            if (line[a] > constant * total_[static_cast<std::size_t>(a * width_ + a)]) {
                line[a] *= 1 + ridge / n;
            } else {
                line[a] = -1;
            }
        }
        for (index_t a = 0; a < k_; ++a) {  // columns that do not vary here
            double* line = factor.data() + a * given_;
            if (line[a] >= 0) continue;
            std::fill(line, line + a, 0.0);
            line[a] = 1;
            for (index_t b = a + 1; b < given_; ++b) factor[static_cast<std::size_t>(b * given_ + a)] = 0;
        }
        if (!cholesky(factor.data(), given_)) return 0;
        const double pivot = factor.back();
        return pivot * pivot * ((n + v) / (n - v)) * ((n + v) / (n - v));
    }

    void find_residuals(const Node& node, const std::vector<double>& factor) {
        // The last line of the factor is L^-1 b: what is left is L' x = it.
        std::vector<double> plane(factor.end() - given_, factor.end() - 1), square(static_cast<std::size_t>(k_ * k_));
        for (index_t a = 0; a < k_; ++a) std::copy_n(factor.begin() + a * given_, k_, square.begin() + a * k_);
        solve_upper(square.data(), k_, plane.data());
        const Wide* entries = segment(0, node);
        for (index_t i = 0; i < node.size(); ++i) {
            const index_t at = row_of(entries[i]);
            const float* z = z_.data() + at * given_;
            double left = z[k_];
            for (index_t c = 0; c < k_; ++c) left -= plane[static_cast<std::size_t>(c)] * z[c];
            residual_[static_cast<std::size_t>(at)] = left;
        }
    }

    std::int32_t category(Wide entry, index_t j) const { return columns_.category(rows_[row_of(entry)], j); }

    // With `stride` above 1 every so many entries stand for all.
    Column column(const Node& node, index_t j, index_t stride) const {
        Column here;
        here.entries = segment(j, node);
        here.absent = count_missing(here.entries, node.size());
        here.present = node.size() - here.absent;
        here.missing = here.entries + here.present;
        const double all_present = static_cast<double>(here.present), all_absent = static_cast<double>(here.absent);
        if (stride > 1) {
            for (index_t i = stride / 2; i < here.present; i += stride) here.own.push_back(here.entries[i]);
            const auto kept = static_cast<index_t>(here.own.size());
            for (index_t i = 0; i < here.absent; i += stride) here.own.push_back(here.missing[i]);
            here.absent = static_cast<index_t>(here.own.size()) - kept;
            here.present = kept;
        } else if (columns_.nominal(j)) {
            here.own.assign(here.entries, here.entries + node.size());
        }
        if (!here.own.empty()) {
            here.entries = here.own.data();
            here.missing = here.entries + here.present;
        }
        if (here.present > 0) here.scale = all_present / static_cast<double>(here.present);
        here.total = stride > 1 ? no_sums() : total_;
        if (stride > 1) add(here.entries, here.present, here.scale, here.total.data());
        double missing_weight = 0;
        if (here.absent > 0) {
            here.missing_scale = all_absent / static_cast<double>(here.absent);
            here.missing_sums = no_sums();
            add(here.missing, here.absent, here.missing_scale, here.missing_sums.data());
            missing_weight = total_weight(here.missing_sums.data());
            for (index_t i = 0; i < here.absent; ++i) here.missing_rows += here.missing_scale * rows_of(row_of(here.missing[i]));
            for (std::size_t i = 0; stride > 1 && i < here.total.size(); ++i) here.total[i] += here.missing_sums[i];
        }
        std::vector<std::int32_t> rank;
        if (columns_.nominal(j)) {
            rank = ranks(here, j);
            std::stable_sort(here.own.begin(), here.own.begin() + here.present, [&](Wide a, Wide b) {
                return rank[static_cast<std::size_t>(category(a, j))] < rank[static_cast<std::size_t>(category(b, j))];
            });
        }
        const double weight = total_weight(here.total.data());
        double left = 0, rows = 0;
        const double all_rows = tree_.rows.back();  // of this node, which was written last
        const double least = least_weight_ - missing_weight, least_rows = options_.min_leaf - here.missing_rows;
        for (index_t i = 1; i < here.present; ++i) {
            const Wide before = here.entries[i - 1], after = here.entries[i];
            left += here.scale * weight_of(row_of(before));
            rows += here.scale * rows_of(row_of(before));
            const bool same = columns_.nominal(j) ? category(before, j) == category(after, j)
                                                  : value(row_of(before), j) == value(row_of(after), j);
            if (same || left < least || weight - missing_weight - left < least || rows < least_rows ||
                all_rows - here.missing_rows - rows < least_rows)
                continue;
            here.cuts.push_back(static_cast<std::int32_t>(i));
            here.rows_left.push_back(rows);
        }
        return here;
    }

    // The place of each category in the order of mean residuals.
    std::vector<std::int32_t> ranks(const Column& here, index_t j) const {
        const auto count = static_cast<std::size_t>(columns_.n_categories[j]);
        std::vector<double> mean(count, 0.0), weight(count, 0.0);
        for (index_t i = 0; i < here.present; ++i) {
            const index_t at = row_of(here.entries[i]);
            const auto c = static_cast<std::size_t>(category(here.entries[i], j));
            weight[c] += weight_of(at);
            mean[c] += weight_of(at) * residual_[static_cast<std::size_t>(at)];
        }
        std::vector<std::int32_t> order(count), rank(count);
        for (std::size_t c = 0; c < count; ++c) mean[c] = weight[c] > 0 ? mean[c] / weight[c] : infinity;
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
            return mean[static_cast<std::size_t>(a)] < mean[static_cast<std::size_t>(b)];
        });
        for (std::size_t c = 0; c < count; ++c) rank[static_cast<std::size_t>(order[c])] = static_cast<std::int32_t>(c);
        return rank;
    }

    // The best cut among `places` of a column, and with `to_the_end` among those between the places beside it.
    Best look(const Node& node, index_t j, bool to_the_end) const {
        const Column here = column(node, j, to_the_end ? 1 : std::max<index_t>(1, node.size() / sampled));
        Best best;
        if (here.cuts.empty()) return best;
        index_t low = 0, high = static_cast<index_t>(here.cuts.size()) - 1, from = 0, places = first_places;
        std::vector<double> sums = no_sums();
        const double rows = tree_.rows.back();
        for (bool last = false; !last;) {
            const index_t count = std::min(high - low + 1, places);
            last = count == high - low + 1 || !to_the_end;
            std::vector<double> before = sums, start = sums;
            double least = infinity;
            index_t start_from = from, at = 0, before_from = from;
            const auto place = [&](index_t t) { return count == 1 ? low : low + (high - low) * t / (count - 1); };
            for (index_t t = 0; t < count; ++t) {
                const index_t cut = here.cuts[static_cast<std::size_t>(place(t))];
                before = sums;
                before_from = from;
                add(here.entries + from, cut - from, here.scale, sums.data());
                from = cut;
                bool missing_left = false;
                const double both = costs(here, sums, here.rows_left[static_cast<std::size_t>(place(t))], rows, missing_left);
                if (both < least - tie * least || (t == 0 && both < least)) {
                    least = both;
                    at = t;
                    start = before;
                    start_from = before_from;
                }
                if (best.column < 0 ? both < infinity : both < best.cost - tie * best.cost)
                    best = {both, static_cast<std::int32_t>(j), cut, missing_left};
            }
            const index_t left = at > 0 ? place(at - 1) : low, right = at + 1 < count ? place(at + 1) : high;
            low = left;
            high = right;
            sums = std::move(start);
            from = start_from;
            places = next_places;
        }
        return best;
    }

    // cost(left) + cost(right) with the missing cells on the better side.
    double costs(const Column& here, const std::vector<double>& left, double rows_left, double rows, bool& missing_left) const {
        std::vector<double> factor, one(left), other(left.size());
        double best = infinity;
        for (const bool to_left : {false, true}) {
            if (to_left && here.absent == 0) break;
            if (to_left)
                for (std::size_t i = 0; i < one.size(); ++i) one[i] += here.missing_sums[i];
            const double rows_here = rows_left + (to_left ? here.missing_rows : 0.0);
            for (std::size_t i = 0; i < one.size(); ++i) other[i] = here.total[i] - one[i];
            if (total_weight(one.data()) < least_weight_ || total_weight(other.data()) < least_weight_ ||
                rows_here < options_.min_leaf || rows - rows_here < options_.min_leaf)
                continue;
            const double both = cost(one.data(), factor) + cost(other.data(), factor);
            if (!(both < best)) continue;
            best = both;
            missing_left = to_left;
        }
        return best;
    }

    // Writes the test and sorts the entries of the node to its children; returns the rows on the left.
    index_t send(const Node& node, std::int32_t id, const Best& best) {
        const auto at = static_cast<std::size_t>(id);
        const index_t j = best.column;
        const Column here = column(node, j, 1);
        double left_rows = 0, right_rows = 0;
        for (index_t i = 0; i < here.present; ++i) {
            const index_t row = row_of(here.entries[i]);
            side_[static_cast<std::size_t>(row)] = i < best.count;
            (i < best.count ? left_rows : right_rows) += rows_of(row);
        }
        const bool missing_left = here.absent > 0 ? best.missing_left : left_rows > right_rows;
        for (index_t i = 0; i < here.absent; ++i) side_[static_cast<std::size_t>(row_of(here.missing[i]))] = missing_left;
        tree_.feature[at] = best.column;
        tree_.missing_left[at] = missing_left;
        if (!columns_.nominal(j)) {
            const double below = value(row_of(here.entries[best.count - 1]), j), above = value(row_of(here.entries[best.count]), j);
            const double middle = 0.5 * below + 0.5 * above;
            tree_.threshold[at] = middle < above && middle >= below ? middle : below;
        } else {
            const auto words = static_cast<std::size_t>((columns_.n_categories[j] + 63) / 64);
            tree_.categories[at] = static_cast<std::int64_t>(tree_.words.size());
            tree_.words.resize(tree_.words.size() + words, missing_left ? ~std::uint64_t{0} : 0);
            std::uint64_t* set = tree_.words.data() + tree_.categories[at];
            for (index_t i = 0; i < here.present; ++i) {
                const std::int32_t code = category(here.entries[i], j);
                const std::uint64_t bit = std::uint64_t{1} << (code % 64);
                set[code / 64] = i < best.count ? set[code / 64] | bit : set[code / 64] & ~bit;
            }
        }
        index_t on_left = 0;
        for (index_t i = 0; i < node.size(); ++i) on_left += side_[static_cast<std::size_t>(row_of(segment(0, node)[i]))];
        parallel_chunks(d_, 1, threads(node), [&](index_t c, index_t, index_t) {
            Wide* entries = segment(c, node);
            std::stable_partition(entries, entries + node.size(),
                                  [&](Wide entry) { return side_[static_cast<std::size_t>(row_of(entry))] != 0; });
        });
        return on_left;
    }

    const tables::CodedColumns& columns_;
    Wide* order_;
    Vector<const std::int32_t> rows_;
    const CartTarget& target_;
    const LinearSplitOptions& options_;
    index_t n_, d_, k_ = 0, given_ = 1, width_ = 8;
    double least_weight_ = 0, whole_spread_ = 0;
    bool any_nominal_ = false;
    std::vector<std::int32_t> numeric_;
    std::vector<float> z_;
    std::vector<double> residual_, total_;
    std::vector<std::uint8_t> side_;
    Tree tree_;
};

}  // namespace

double least_rows_to_split(index_t columns) { return 2 * side_share * static_cast<double>(columns + 1); }

Tree grow_by_planes(const tables::CodedColumns& columns, tables::Entry* order, Vector<const std::int32_t> rows,
                    const CartTarget& target, const LinearSplitOptions& options) {
    return PlaneGrower(columns, order, rows, target, options).run();
}

}  // namespace assay::trees
