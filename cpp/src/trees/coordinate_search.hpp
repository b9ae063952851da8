// The search for a linear test by one coefficient at a time; see assay/trees/oblique.hpp.
//
// A row is on the left if a = b0 + b'z <= 0. As the coefficient of z_j moves from its value c by v, the row changes sides at
// v = -a / z_j, so that one pass over the rows tells the two groups on the left for every value of the coefficient: the rows
// are counted in bins of q = (v / s) / (1 + |v / s|) = -a sign(z_j) / (s |z_j| + |a|), with s = max(0.1, |c|). The intercept is
// a coefficient of z = 1. With h the share of group 1 on the left, l that of all rows and P that of group 1 in all, Gini's
// impurity falls by 2 (h - P l)^2 / (l (1 - l)).
//
// Cells and sums are held in single precision: the search tells directions apart, thresholds are found exactly afterwards.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/common/interrupt.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "oblique_direction.hpp"

namespace assay::trees {

// OUT bin: where each row changes sides, two places for each bin and that of its group; enters: 1 if it enters the left part
// there, -1 if it leaves it, 0 if it is always on the right. What does not depend on the coefficient enters in the first bin.
ASSAY_INLINE void place_rows_body(const float* z, const float* along, const std::uint8_t* high, float scale, float half, index_t n,
                                  std::int32_t* bin, float* enters) {
    const float last = 2 * half - 1;
    for (index_t i = 0; i < n; ++i) {
        const float a = along[i], cell = z[i], size = scale * std::abs(cell) + std::abs(a);
        const float q = (cell > 0 ? -a : a) / (size > 0 ? size : 1.0F), place = (q + 1) * half;
        const auto k = static_cast<std::int32_t>(place < last ? place : last);
        bin[i] = 2 * (cell == 0 ? 0 : k) + high[i];
        enters[i] = cell > 0 ? -1.0F : (cell < 0 || a <= 0) ? 1.0F : 0.0F;
    }
}
ASSAY_DISPATCH(void, place_rows, place_rows_body,
               (const float* z, const float* along, const std::uint8_t* high, float scale, float half, index_t n,
                std::int32_t* bin, float* enters),
               (z, along, high, scale, half, n, bin, enters))

// gain = (h - P l)^2 / (l (1 - l)), 0 where a part is empty; gives the first bin of most gain. Numbers from 0 on are ordered as
// their bits are, of which vectors find the largest.
ASSAY_INLINE index_t best_bin_body(const double* part, const double* upper, double share, index_t n, double* gain) {
    std::int64_t most = 0;
    for (index_t k = 0; k < n; ++k) {
        const double l = part[k], t = upper[k] - share * l, both = l * (1 - l);
        gain[k] = l > 0 && l < 1 ? t * t / (both > 0 ? both : 1.0) : 0.0;
        most = std::max(most, std::bit_cast<std::int64_t>(gain[k]));
    }
    return std::find(gain, gain + n, std::bit_cast<double>(most)) - gain;
}
ASSAY_DISPATCH(index_t, best_bin, best_bin_body,
               (const double* part, const double* upper, double share, index_t n, double* gain), (part, upper, share, n, gain))

ASSAY_INLINE void add_column_body(float* along, const float* z, float by, index_t n) {
    for (index_t i = 0; i < n; ++i) along[i] += by * z[i];
}
ASSAY_DISPATCH(void, add_column, add_column_body, (float* along, const float* z, float by, index_t n), (along, z, by, n))

class CoordinateSearch {
public:
    struct Found {
        std::vector<double> b;  // the intercept is the last
        double gain = -1;
    };

    // On every `step`-th row of the node; `high` says which rows are in group 1.
    CoordinateSearch(const ObliqueNode& node, const std::vector<std::uint8_t>& high, index_t step)
        : node_(node), n_((node.size() + step - 1) / step), p_(node.columns.size()), z_((p_ + 1) * at(n_)), weight_(at(n_)),
          high_(at(n_)) {
        double total = 0, upper = 0;
        for (index_t i = 0; i < n_; ++i) {
            const std::size_t from = at(i * step);
            high_[at(i)] = high[from];
            total += weight_[at(i)] = node.weight[from];
            if (high[from] != 0) upper += node.weight[from];
            for (std::size_t j = 0; j < p_; ++j) z_[j * at(n_) + at(i)] = static_cast<float>(node.standardised(from, j));
        }
        std::fill(z_.begin() + static_cast<index_t>(p_ * at(n_)), z_.end(), 1.0F);
        unit_ = total > 0 ? 1 / total : 0;
        share_ = upper * unit_;
        above_.assign(2 * (p_ + 1), 0.0);
        for (std::size_t j = 0; j <= p_; ++j)
            for (index_t i = 0; i < n_; ++i)
                if (column(j)[i] > 0) above_[2 * j + high_[at(i)]] += weight_[at(i)];
    }

    // From one start: coefficients in turn, then the threshold, until nothing improves.
    Found climb(std::vector<double> b) const {
        Work work(n_);
        for (std::size_t j = 0; j <= p_; ++j)
            if (b[j] != 0) add_column(work.along.data(), column(j), static_cast<float>(b[j]), n_);
        double gain = -1;
        set_threshold(b, work, gain);
        for (int pass = 0; pass < 10 && !interrupted(); ++pass) {
            const double before = gain;
            for (std::size_t j = 0; j < p_; ++j)
                if (node_.deviation[j] > 0) set_coefficient(b, j, work, gain);
            set_threshold(b, work, gain);
            if (!(gain > before + 0.5e-4)) break;
        }
        return {std::move(b), gain};
    }

    std::vector<double> best_column() const {
        Found best{std::vector<double>(p_ + 1, 0.0), -1};
        Work work(n_);
        for (std::size_t j = 0; j < p_; ++j) {
            if (node_.deviation[j] == 0) continue;
            std::vector<double> b(p_ + 1, 0.0);
            b[j] = 1;
            std::copy_n(column(j), n_, work.along.begin());
            double gain = -1;
            set_coefficient(b, p_, work, gain);
            if (gain > best.gain) best = {std::move(b), gain};
        }
        return std::move(best.b);
    }

    std::vector<double> random_direction(Random& random) const {
        std::vector<double> b(p_ + 1, 0.0);
        for (std::size_t j = 0; j < p_; ++j) {
            const double draw = random.normal();
            if (node_.deviation[j] > 0) b[j] = draw;
        }
        return b;
    }

private:
    static constexpr index_t few_bins = 256, many_bins = 1024, few_rows = 512, block = 256;

    struct Work {
        explicit Work(index_t n) : along(at(n), 0.0F) {}
        std::vector<float> along;  // b0 + b'z of each row
        std::array<std::int32_t, block> bin{};
        std::array<float, block> enters{};
        std::array<double, 2 * many_bins> change{};
        std::array<double, many_bins> part{}, upper{}, gain{};
    };

    static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
    const float* column(std::size_t j) const { return z_.data() + j * at(n_); }

    // The coefficient of most gain, if that is more than `gain`.
    void set_coefficient(std::vector<double>& b, std::size_t j, Work& work, double& gain) const {
        const double old = b[j], scale = j == p_ ? 1.0 : std::max(0.1, std::abs(old));
        const float* z = column(j);
        const index_t bins = n_ <= few_rows ? few_bins : many_bins;
        std::fill_n(work.change.begin(), 2 * bins, 0.0);
        for (index_t begin = 0; begin < n_; begin += block) {
            const index_t count = std::min(block, n_ - begin);
            place_rows(z + begin, work.along.data() + begin, high_.data() + begin, static_cast<float>(scale), 0.5F * static_cast<float>(bins), count,
                       work.bin.data(), work.enters.data());
            const double* weight = weight_.data() + begin;
            for (index_t i = 0; i < count; ++i)
                work.change[at(work.bin[at(i)])] += static_cast<double>(work.enters[at(i)]) * weight[i];
        }
        double low = above_[2 * j], high = above_[2 * j + 1];
        for (index_t k = 0; k + 1 < bins; ++k) {
            low += work.change[at(2 * k)];
            high += work.change[at(2 * k + 1)];
            work.part[at(k)] = (low + high) * unit_;
            work.upper[at(k)] = high * unit_;
        }
        const index_t best = best_bin(work.part.data(), work.upper.data(), share_, bins - 1, work.gain.data());
        if (best >= bins - 1 || !(work.gain[at(best)] > gain + 0.5e-9)) return;  // the end: sums that are no numbers
        const double q = 2 * static_cast<double>(best + 1) / static_cast<double>(bins) - 1;
        const double by = scale * q / (1 - std::abs(q));
        gain = work.gain[at(best)];
        b[j] = old + by;
        if (by != 0) add_column(work.along.data(), z, static_cast<float>(by), n_);
    }

    // The intercept of most gain for b of length 1.
    void set_threshold(std::vector<double>& b, Work& work, double& gain) const {
        double size = 0;
        for (std::size_t j = 0; j < p_; ++j) size += b[j] * b[j];
        if (size > 0) {
            const double unit = 1 / std::sqrt(size);
            for (double& v : b) v *= unit;
            for (float& a : work.along) a *= static_cast<float>(unit);
        }
        set_coefficient(b, p_, work, gain);
    }

    const ObliqueNode& node_;
    const index_t n_;
    const std::size_t p_;
    std::vector<float> z_;  // column after column; the last is 1
    std::vector<double> weight_, above_;  // above: the weights of both groups with a positive cell, for each column
    std::vector<std::uint8_t> high_;
    double unit_ = 0, share_ = 0;
};

}  // namespace assay::trees
