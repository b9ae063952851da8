// Where the labels of a nominal column stand in one tree: the mean of their targets over all rows of the tree, along one direction.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/trees/bins.hpp"

namespace assay::ensembles {
namespace {

// Of labels with sums G (by channel) and weight H. One channel orders them by G / H; of several the first principal component of G / H
// (weighted by H) is the direction u, and they stand in the order of u.G / H (Coppersmith, Hong & Hosking, Data Mining and Knowledge
// Discovery 3, 1999).
class LabelOrder {
public:
    // `sums` holds G and H of each code. A label of few rows is drawn to the mean by `prior` weight; one of none stands there.
    void learn(const std::int64_t* sums, index_t codes, index_t channels, double prior) {
        const index_t stride = channels + 1;
        direction_.assign(static_cast<std::size_t>(channels), 0.0);
        standing_.assign(static_cast<std::size_t>(codes), 0.0);
        std::vector<double> mean(direction_.size(), 0.0);
        double weight = 0;
        for (index_t b = 0; b < codes; ++b) {
            for (index_t k = 0; k < channels; ++k) mean[static_cast<std::size_t>(k)] += static_cast<double>(sums[b * stride + k]);
            weight += static_cast<double>(sums[b * stride + channels]);
        }
        if (!(weight > 0)) weight = 1;
        for (double& m : mean) m /= weight;
        find_direction(sums, codes, mean);
        const double middle = along(mean.data());
        for (index_t b = 0; b < codes; ++b)
            standing_[static_cast<std::size_t>(b)] =
                (along(sums + b * stride) + prior * middle) / (static_cast<double>(sums[b * stride + channels]) + prior);
    }

    double standing(index_t code) const { return standing_[static_cast<std::size_t>(code)]; }

    template <class T>
    double along(const T* sums) const {
        double total = 0;
        for (std::size_t k = 0; k < direction_.size(); ++k) total += direction_[k] * static_cast<double>(sums[k]);
        return total;
    }

    // The variance along the direction of a target that is one of the channels, with these sums.
    double spread_of_classes(const std::int64_t* sums) const {
        const auto weight = static_cast<double>(sums[direction_.size()]);
        double squares = 0;
        for (std::size_t k = 0; k < direction_.size(); ++k) squares += direction_[k] * direction_[k] * static_cast<double>(sums[k]);
        const double mean = along(sums) / weight;
        return std::max(0.0, squares / weight - mean * mean);
    }

private:
    void find_direction(const std::int64_t* sums, index_t codes, const std::vector<double>& mean) {
        const auto channels = static_cast<index_t>(mean.size()), stride = channels + 1;
        if (channels == 1) {
            direction_[0] = 1;
            return;
        }
        std::vector<double> next(mean.size()), off(mean.size());
        const auto each = [&](auto&& use) {
            for (index_t b = 0; b < codes; ++b) {
                const auto h = static_cast<double>(sums[b * stride + channels]);
                if (!(h > 0)) continue;
                for (index_t k = 0; k < channels; ++k)
                    off[static_cast<std::size_t>(k)] = static_cast<double>(sums[b * stride + k]) / h - mean[static_cast<std::size_t>(k)];
                use(h);
            }
        };
        each([&](double h) {
            for (std::size_t k = 0; k < off.size(); ++k) next[k] += h * off[k] * off[k];
        });
        direction_[static_cast<std::size_t>(std::max_element(next.begin(), next.end()) - next.begin())] = 1;
        for (int step = 0; step < 20; ++step) {  // power method
            std::fill(next.begin(), next.end(), 0.0);
            each([&](double h) {
                const double part = h * along(off.data());
                for (std::size_t k = 0; k < off.size(); ++k) next[k] += part * off[k];
            });
            double norm = 0;
            for (const double v : next) norm += v * v;
            if (!(norm > 0)) return;
            for (std::size_t k = 0; k < next.size(); ++k) direction_[k] = next[k] / std::sqrt(norm);
        }
    }

    std::vector<double> direction_, standing_;
};

}  // namespace
}  // namespace assay::ensembles
