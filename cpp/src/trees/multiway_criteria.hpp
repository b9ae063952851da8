// Criteria of multiway trees and the best test of one column. A part of weight w with class weights c_k costs w I; with
//   entropy  phi(c) = c log2 c    cost = phi(w) - sum_k phi(c_k)
//   gini     phi(c) = c^2         cost = w - sum_k phi(c_k) / w
// phi is kept as an integer on a scale that the node sets, so that sums telescope exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/trees/multiway.hpp"
#include "criteria.hpp"
#include "entries.hpp"

namespace assay::trees {

constexpr double tolerance = 1e-9;  // gains, ratios and weights this close are equal
constexpr double slack = 1e-9;

struct MultiwayEntropy {
    static constexpr bool tabled = true;
    static double phi(double c) { return c > 0 ? c * std::log2(c) : 0.0; }
    static double largest(double w) { return w * std::log2(w + 2) + 1; }
    static double cost(double, double phi_of_weight, double sum) { return phi_of_weight - sum; }
    static double impurity(const double* counts, index_t k, double w) { return Entropy::impurity(counts, k, w); }
};

struct MultiwayGini {
    static constexpr bool tabled = false;
    static double phi(double c) { return c * c; }
    static double largest(double w) { return w * w + 1; }
    static double cost(double w, double, double sum) { return w > 0 ? w - sum / w : 0.0; }
    static double impurity(const double* counts, index_t k, double w) { return Gini::impurity(counts, k, w); }
};

struct Phi {
    const std::int64_t* table = nullptr;
    double scale = 1;

    template <class Policy>
    static Phi of(double weight) {
        return {nullptr, std::exp2(std::floor(60.0 - std::log2(Policy::largest(weight))))};
    }
    template <class Policy>
    std::int64_t at(double c) const {
        if (table != nullptr) return table[static_cast<std::size_t>(c)];
        const double scaled = Policy::phi(c) * scale;
        return static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
    }
    // The cost of a part from its weight and the sum of phi over its classes.
    template <class Policy>
    double cost(double w, std::int64_t sum) const {
        if constexpr (Policy::tabled) return static_cast<double>(at<Policy>(w) - sum) / scale;
        return Policy::cost(w, 0, static_cast<double>(sum) / scale);
    }
};

// The best test of a column: the first `position` known entries against the rest, or a branch per category.
struct MultiwayCandidate {
    bool valid = false, varies = false;  // `varies`: the known cells do not all agree
    bool counted = false;                // in the average gain: valid, or nominal with two large branches
    double gain = 0, split_info = 0, ratio = 0;
    index_t position = 0;
};

struct Items {
    const std::int32_t* label;
    const double* weight;
    index_t n;
    const double* counts;  // class weights and weight of all items
    double total;
    index_t n_classes;
};

struct Scratch {
    std::vector<double> left, right;
    std::vector<std::int64_t> phi_left, phi_right;
    std::vector<std::int32_t> touched;
};

inline double information(double part, double total) {
    return part > 0 ? -part / total * std::log2(part / total) : 0.0;
}

// Class weights of the known items in `scratch.right`; returns their weight.
inline double count_known(const Items& items, const Wide* e, index_t known, Scratch& s) {
    const auto k = static_cast<std::size_t>(items.n_classes);
    if (known == items.n) {
        s.right.assign(items.counts, items.counts + k);
        return items.total;
    }
    s.right.assign(k, 0.0);
    double weight = 0;
    for (index_t i = 0; i < known; ++i) {
        const auto item = row_of(e[i]);
        s.right[static_cast<std::size_t>(items.label[item])] += items.weight[item];
        weight += items.weight[item];
    }
    return weight;
}

template <class Policy>
void finish(const Items& items, const MultiwayOptions& options, double gain, double split_info,
            MultiwayCandidate& found) {
    found.gain = gain;
    found.split_info = split_info;
    found.ratio = split_info > 0 ? gain / split_info : 0.0;
    found.valid = !options.positive_gain || gain > tolerance;
    if (!(items.total > 0)) found.valid = false;
    found.counted = found.valid;
}

template <class Policy>
MultiwayCandidate scan_numeric(const Items& items, const Wide* e, index_t known, const Phi& phi,
                               const MultiwayOptions& options, Scratch& s) {
    MultiwayCandidate found;
    found.varies = known >= 2 && varies(e, known);
    if (!found.varies) return found;
    const double weight = count_known(items, e, known, s);
    double least = options.min_leaf;
    if (options.large_branches)
        least = std::max(least, std::min(25.0, 0.1 * weight / static_cast<double>(items.n_classes)));
    if (weight < 2 * least - slack) return found;
    const auto k = static_cast<std::size_t>(items.n_classes);
    s.left.assign(k, 0.0);
    s.phi_left.assign(k, 0);
    s.phi_right.resize(k);
    std::int64_t left = 0, right = 0;
    for (std::size_t c = 0; c < k; ++c) right += s.phi_right[c] = phi.at<Policy>(s.right[c]);
    const double before = phi.cost<Policy>(weight, right);
    double best = std::numeric_limits<double>::infinity(), left_weight = 0, cut_weight = 0;
    index_t tries = 0;
    const double margin = tolerance * items.total;
    for (index_t i = 0; i + 1 < known; ++i) {
        const auto item = row_of(e[i]);
        const double w = items.weight[item];
        const auto c = static_cast<std::size_t>(items.label[item]);
        const std::int64_t more = phi.at<Policy>(s.left[c] += w), less = phi.at<Policy>(s.right[c] -= w);
        left += more - s.phi_left[c];
        right += less - s.phi_right[c];
        s.phi_left[c] = more;
        s.phi_right[c] = less;
        left_weight += w;
        if (!is_fresh(e[i + 1]) || left_weight < least - slack) continue;
        if (weight - left_weight < least - slack) break;
        ++tries;
        const double cost = phi.cost<Policy>(left_weight, left) + phi.cost<Policy>(weight - left_weight, right);
        if (cost < best - margin) {
            best = cost;
            cut_weight = left_weight;
            found.position = i + 1;
        }
    }
    if (tries == 0) return found;
    double gain = (before - best) / items.total;
    if (options.threshold_cost && !options.gini) gain -= std::log2(static_cast<double>(tries)) / items.total;
    const double info = information(cut_weight, items.total) + information(weight - cut_weight, items.total) +
                        information(items.total - weight, items.total);
    finish<Policy>(items, options, gain, info, found);
    return found;
}

template <class Policy>
MultiwayCandidate scan_nominal(const Items& items, const Wide* e, index_t known, const Phi& phi,
                               const MultiwayOptions& options, Scratch& s) {
    MultiwayCandidate found;
    found.varies = known >= 2 && varies(e, known);
    if (!found.varies) return found;
    const double weight = count_known(items, e, known, s);
    std::int64_t all = 0;
    for (const double c : s.right) all += phi.at<Policy>(c);
    s.left.assign(static_cast<std::size_t>(items.n_classes), 0.0);
    double cost = 0, info = information(items.total - weight, items.total);
    index_t large = 0;
    for (index_t begin = 0, end = 0; begin < known; begin = end) {
        double branch = 0;
        s.touched.clear();
        for (; end < known && (end == begin || !is_fresh(e[end])); ++end) {
            const auto item = row_of(e[end]);
            double& count = s.left[static_cast<std::size_t>(items.label[item])];
            if (count == 0) s.touched.push_back(items.label[item]);
            count += items.weight[item];
            branch += items.weight[item];
        }
        std::int64_t sum = 0;
        for (const std::int32_t c : s.touched) {
            sum += phi.at<Policy>(s.left[static_cast<std::size_t>(c)]);
            s.left[static_cast<std::size_t>(c)] = 0;
        }
        cost += phi.cost<Policy>(branch, sum);
        info += information(branch, items.total);
        large += branch > options.min_leaf - slack;
    }
    if (large < 2) return found;
    finish<Policy>(items, options, (phi.cost<Policy>(weight, all) - cost) / items.total, info, found);
    found.counted = items.total > 0;
    return found;
}

}  // namespace assay::trees
