// Split criteria as policies. Each has
//   is_ratio      the cost of a part is -A / w with A from running sums (gini, squared error): prefix sums, then one
//                 vectorised pass over the boundaries (second order: w is H + l2);
//   Accumulator   otherwise: add(row) and cost() of the rows added so far, run forward and backward;
//   summarise     weight, impurity, purity and value of a node;
//   counts_cost   classification: the cost of a part from its class weights, in the same unit.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::trees {

constexpr int second_class = 16;
constexpr std::uint32_t first_field = (1U << second_class) - 1, most_in_pair = 31;

// Targets and weights of the rows of one store, by row of that store.
struct Samples {
    const std::int32_t* label = nullptr;
    const double* y = nullptr;       // regression: the target
    const double* search = nullptr;  // the target on a grid, so that sums with whole weights are exact in any order
    index_t outputs = 1;
    const double* weight = nullptr;
    const double* repeat = nullptr;
    index_t n_classes = 0;
    const std::int64_t* xlogx = nullptr;  // entropy: fixed-point c log2 c for whole c, null if weights are not whole
    double fixed_point = 1;
    double l2 = 0, l1 = 0;  // second order; `search` and `y` then hold pairs (g, h), on the grid and what it left over
    // Two classes and whole weights of up to `most_in_pair`: the weight, and from bit `second_class` on that of the second class.
    const std::uint32_t* pair = nullptr;

    double weight_of(index_t row) const { return weight != nullptr ? weight[row] : 1.0; }
    double repeat_of(index_t row) const { return repeat != nullptr ? repeat[row] : 1.0; }
};

struct Summary {
    double rows = 0, repeats = 0, weight = 0, impurity = 0;
    double cost = 0;  // second order only: the change of the loss by the node's best value
    bool pure = true;
};

inline Summary count_rows(const Samples& data, const std::int32_t* rows, index_t n) {
    Summary s;
    s.rows = static_cast<double>(n);
    if (data.weight == nullptr) {
        s.weight = s.rows;
    } else {
        for (index_t i = 0; i < n; ++i) s.weight += data.weight[rows[i]];
    }
    if (data.repeat == nullptr) {
        s.repeats = s.rows;
    } else if (data.repeat == data.weight) {
        s.repeats = s.weight;
    } else {
        for (index_t i = 0; i < n; ++i) s.repeats += data.repeat[rows[i]];
    }
    return s;
}

// Classification: `value` receives the class weights.
template <class Policy>
Summary summarise_classes(const Samples& data, const std::int32_t* rows, index_t n, double* value) {
    Summary s = count_rows(data, rows, n);
    std::fill(value, value + data.n_classes, 0.0);
    if (data.pair != nullptr) {
        std::uint64_t second = 0;
        for (index_t i = 0; i < n; ++i) second += data.pair[rows[i]] >> second_class;
        value[1] = static_cast<double>(second);
        value[0] = s.weight - value[1];
    } else {
        for (index_t i = 0; i < n; ++i) value[data.label[rows[i]]] += data.weight_of(rows[i]);
    }
    index_t present = 0;
    for (index_t k = 0; k < data.n_classes; ++k) present += value[k] > 0;
    s.pure = present <= 1;
    s.impurity = s.pure ? 0.0 : Policy::impurity(value, data.n_classes, s.weight);
    return s;
}

struct Gini {
    static constexpr bool classifies = true, is_ratio = true;
    static double impurity(const double* counts, index_t k, double w) {
        double sum = 0;
        for (index_t c = 0; c < k; ++c) sum += counts[c] * counts[c];
        return 1.0 - sum / (w * w);
    }
    static double counts_cost(const Samples&, const double* counts, index_t k, double w) {
        double sum = 0;
        for (index_t c = 0; c < k; ++c) sum += counts[c] * counts[c];
        return -sum / w;
    }
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        return summarise_classes<Gini>(data, rows, n, value);
    }
};

// c log2 c in fixed point: integer sums telescope exactly, so equal class counts have equal costs in any order.
inline std::int64_t xlogx(const Samples& data, double c) {
    if (data.xlogx != nullptr) return data.xlogx[static_cast<std::size_t>(c)];
    return c > 0 ? std::llround(c * std::log2(c) * data.fixed_point) : 0;
}

struct Entropy {
    static constexpr bool classifies = true, is_ratio = false;
    static double impurity(const double* counts, index_t k, double w) {
        double sum = 0;
        for (index_t c = 0; c < k; ++c)
            if (counts[c] > 0) sum -= counts[c] / w * std::log2(counts[c] / w);
        return sum;
    }
    static double counts_cost(const Samples& data, const double* counts, index_t k, double w) {
        std::int64_t sum = xlogx(data, w);
        for (index_t c = 0; c < k; ++c) sum -= xlogx(data, counts[c]);
        return static_cast<double>(sum) / data.fixed_point;
    }
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        return summarise_classes<Entropy>(data, rows, n, value);
    }
    class Accumulator {
    public:
        void clear(const Samples& data) {
            counts_.assign(static_cast<std::size_t>(data.n_classes), 0.0);
            total_ = 0;
            sum_ = 0;
        }
        void add(const Samples& data, index_t row) {
            double& c = counts_[static_cast<std::size_t>(data.label[row])];
            sum_ -= xlogx(data, c);
            c += data.weight_of(row);
            total_ += data.weight_of(row);
            sum_ += xlogx(data, c);
        }
        double cost(const Samples& data) const {
            return static_cast<double>(xlogx(data, total_) - sum_) / data.fixed_point;
        }

    private:
        std::vector<double> counts_;
        double total_ = 0;
        std::int64_t sum_ = 0;
    };
};

struct Misclassification {
    static constexpr bool classifies = true, is_ratio = false;
    static double impurity(const double* counts, index_t k, double w) {
        return 1.0 - *std::max_element(counts, counts + k) / w;
    }
    static double counts_cost(const Samples&, const double* counts, index_t k, double w) {
        return w - *std::max_element(counts, counts + k);
    }
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        return summarise_classes<Misclassification>(data, rows, n, value);
    }
    class Accumulator {
    public:
        void clear(const Samples& data) {
            counts_.assign(static_cast<std::size_t>(data.n_classes), 0.0);
            total_ = most_ = 0;
        }
        void add(const Samples& data, index_t row) {
            double& c = counts_[static_cast<std::size_t>(data.label[row])];
            c += data.weight_of(row);
            total_ += data.weight_of(row);
            most_ = std::max(most_, c);
        }
        double cost(const Samples&) const { return total_ - most_; }

    private:
        std::vector<double> counts_;
        double total_ = 0, most_ = 0;
    };
};

inline bool same_target(const Samples& data, const std::int32_t* rows, index_t n) {
    for (index_t i = 1; i < n; ++i)
        for (index_t o = 0; o < data.outputs; ++o)
            if (data.y[rows[i] * data.outputs + o] != data.y[rows[0] * data.outputs + o]) return false;
    return true;
}

struct SquaredError {
    static constexpr bool classifies = false, is_ratio = true;
    // `value` receives the weighted sums of the search target, then the means of the target.
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        Summary s = count_rows(data, rows, n);
        s.pure = same_target(data, rows, n);
        double* mean = value + data.outputs;
        std::fill(value, value + 2 * data.outputs, 0.0);
        for (index_t i = 0; i < n; ++i) {
            const double w = data.weight_of(rows[i]);
            for (index_t o = 0; o < data.outputs; ++o) {
                value[o] += w * data.search[rows[i] * data.outputs + o];
                mean[o] += w * data.y[rows[i] * data.outputs + o];
            }
        }
        for (index_t o = 0; o < data.outputs; ++o) mean[o] = s.pure ? data.y[rows[0] * data.outputs + o] : mean[o] / s.weight;
        if (s.pure) return s;
        for (index_t i = 0; i < n; ++i) {
            for (index_t o = 0; o < data.outputs; ++o) {
                const double gap = data.y[rows[i] * data.outputs + o] - mean[o];
                s.impurity += data.weight_of(rows[i]) * gap * gap;
            }
        }
        s.impurity /= s.weight * static_cast<double>(data.outputs);
        return s;
    }
};

struct SecondOrder {
    static constexpr bool classifies = false, is_ratio = true;
    static constexpr index_t per_row = 2;
    static double shrunk(double sum, double l1) { return std::max(std::abs(sum) - l1, 0.0); }
    // Whether the vectors (g, h) of all rows point the same way: no split of them has a positive gain.
    static bool same_step(const Samples& data, const std::int32_t* rows, index_t n) {
        double g0 = 0, h0 = 0;
        for (index_t i = 0; i < n; ++i) {
            const index_t at = 2 * rows[i];
            const double g = data.search[at] + data.y[at], h = data.search[at + 1] + data.y[at + 1];
            if (g0 == 0 && h0 == 0) {
                g0 = g;
                h0 = h;
            } else if (g * h0 != g0 * h || (h0 == 0 && g * g0 < 0)) {
                return false;
            }
        }
        return true;
    }
    // `value` receives the sum of the gradients on the grid, then the best value.
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        Summary s = count_rows(data, rows, n);
        s.pure = same_step(data, rows, n);
        double g = 0, h = 0, g_rest = 0, h_rest = 0;
        for (index_t i = 0; i < n; ++i) {
            const index_t at = 2 * rows[i];
            g += data.search[at];
            h += data.search[at + 1];
            g_rest += data.y[at];
            h_rest += data.y[at + 1];
        }
        value[0] = g;
        s.weight = h;
        const double sum = g + g_rest, reach = shrunk(sum, data.l1), scale = (h + h_rest) + data.l2;
        value[1] = scale > 0 ? std::copysign(reach / scale, -sum) : 0.0;
        s.cost = scale > 0 ? -0.5 * reach * reach / scale : 0.0;
        s.impurity = h > 0 ? s.cost / h : 0.0;
        return s;
    }
    static double order_key(double g, double h) { return h > 0 || g != 0 ? -g / h : 0.0; }
};

template <class Policy>
inline constexpr bool is_second_order = std::is_same_v<Policy, SecondOrder>;

struct AbsoluteError {
    static constexpr bool classifies = false, is_ratio = false;
    // The weighted median, midway at an exact half; `value` receives it.
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>& sorted) {
        Summary s = count_rows(data, rows, n);
        s.pure = same_target(data, rows, n);
        sorted.clear();
        for (index_t i = 0; i < n; ++i) sorted.emplace_back(data.y[rows[i]], data.weight_of(rows[i]));
        std::sort(sorted.begin(), sorted.end());
        double below = 0;
        std::size_t at = 0;
        while (at + 1 < sorted.size() && below + sorted[at].second < 0.5 * s.weight) below += sorted[at++].second;
        const bool half = below + sorted[at].second == 0.5 * s.weight && at + 1 < sorted.size();
        value[0] = half ? 0.5 * (sorted[at].first + sorted[at + 1].first) : sorted[at].first;
        for (const auto& [y, w] : sorted) s.impurity += w * std::abs(y - value[0]);
        s.impurity /= s.weight;
        if (s.pure) s.impurity = 0;
        return s;
    }
    // Two heaps around the median: the lower holds the least weight that reaches half of the total.
    class Accumulator {
    public:
        void clear(const Samples&) {
            low_ = {};
            high_ = {};
            low_weight_ = high_weight_ = low_sum_ = high_sum_ = 0;
        }
        void add(const Samples& data, index_t row) {
            const double y = data.search[row], w = data.weight_of(row);
            if (low_.empty() || y <= low_.top().first) {
                push_low({y, w});
            } else {
                push_high({y, w});
            }
            while (low_weight_ < high_weight_) {
                const Item item = high_.top();
                high_.pop();
                high_weight_ -= item.second;
                high_sum_ -= item.second * item.first;
                push_low(item);
            }
            while (low_weight_ - low_.top().second >= high_weight_ + low_.top().second) {
                const Item item = low_.top();
                low_.pop();
                low_weight_ -= item.second;
                low_sum_ -= item.second * item.first;
                push_high(item);
            }
        }
        double cost(const Samples&) const {
            const double median = low_.top().first;
            return (median * low_weight_ - low_sum_) + (high_sum_ - median * high_weight_);
        }

    private:
        using Item = std::pair<double, double>;
        struct Above {
            bool operator()(const Item& a, const Item& b) const { return a.first > b.first; }
        };
        struct Below {
            bool operator()(const Item& a, const Item& b) const { return a.first < b.first; }
        };
        void push_low(const Item& item) {
            low_.push(item);
            low_weight_ += item.second;
            low_sum_ += item.second * item.first;
        }
        void push_high(const Item& item) {
            high_.push(item);
            high_weight_ += item.second;
            high_sum_ += item.second * item.first;
        }
        std::priority_queue<Item, std::vector<Item>, Below> low_;
        std::priority_queue<Item, std::vector<Item>, Above> high_;
        double low_weight_ = 0, high_weight_ = 0, low_sum_ = 0, high_sum_ = 0;
    };
};

struct WorstCase {
    static constexpr bool classifies = false, is_ratio = false;
    static Summary summarise(const Samples& data, const std::int32_t* rows, index_t n, double* value,
                             std::vector<std::pair<double, double>>&) {
        Summary s = count_rows(data, rows, n);
        Accumulator range;
        range.clear(data);
        for (index_t i = 0; i < n; ++i) range.add(data, rows[i]);
        value[0] = 0.5 * range.low + 0.5 * range.high;
        s.impurity = range.cost(data);
        s.pure = range.low == range.high;
        return s;
    }
    class Accumulator {
    public:
        double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
        void clear(const Samples&) {
            low = std::numeric_limits<double>::infinity();
            high = -low;
        }
        void add(const Samples& data, index_t row) {
            low = std::min(low, data.y[row]);
            high = std::max(high, data.y[row]);
        }
        double cost(const Samples&) const { return 0.5 * high - 0.5 * low; }
    };
};

}  // namespace assay::trees
