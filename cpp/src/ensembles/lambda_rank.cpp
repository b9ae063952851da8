#include "assay/ensembles/lambda_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::ensembles {
namespace {

constexpr index_t query_chunk = 16;

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

// The pairs of the row at place i with those after it; scores, gains, discounts, g and h in the order of places. Returns the sum of sizes.
ASSAY_INLINE double pairs_body(index_t i, index_t m, const double* score, const double* gain, const double* discount, double scale,
                               bool spread, double* g, double* h, double* size) {
    double own_g = 0, own_h = 0, sum = 0;
    for (index_t j = i + 1; j < m; ++j) {
        const double difference = gain[i] - gain[j], sign = difference > 0 ? 1.0 : -1.0;
        const double gap = sign * (score[i] - score[j]);
        double delta = std::abs(difference) * (discount[i] - discount[j]) * scale;
        delta = spread ? delta / (0.01 + std::abs(gap)) : delta;
        const double p = 1 / (1 + fast_exp(std::min(std::max(gap, -50.0), 50.0)));
        size[j] = p * delta;
        const double curve = p * (1 - p) * delta;
        g[j] += sign * size[j];
        h[j] += curve;
        size[j] *= sign;
        own_h += curve;
    }
    for (index_t j = i + 1; j < m; ++j) {
        own_g += size[j];
        sum += std::abs(size[j]);
    }
    g[i] -= own_g;
    h[i] += own_h;
    return 2 * sum;
}
ASSAY_DISPATCH(double, pairs, pairs_body,
               (index_t i, index_t m, const double* score, const double* gain, const double* discount, double scale, bool spread, double* g,
                double* h, double* size),
               (i, m, score, gain, discount, scale, spread, g, h, size))

}  // namespace

void lambda_gradients(const RankTask& task, const double* scores, double* g, double* h, double* ndcg) {
    const index_t queries = task.begin.size - 1;
    index_t longest = 0;
    for (index_t q = 0; q < queries; ++q) longest = std::max(longest, static_cast<index_t>(task.begin[q + 1] - task.begin[q]));
    std::vector<double> discount(at(longest));
    for (index_t r = 0; r < longest; ++r) discount[at(r)] = 1 / std::log2(static_cast<double>(r) + 2);
    parallel_chunks(queries, query_chunk, task.threads, [&](index_t, index_t first, index_t last) {
        std::vector<index_t> order;
        std::vector<double> score, gain, best, own_g, own_h, size;
        for (index_t q = first; q < last; ++q) {
            const auto begin = static_cast<index_t>(task.begin[q]), m = static_cast<index_t>(task.begin[q + 1]) - begin;
            const index_t top = std::min(m, task.truncation);
            std::fill_n(g + begin, m, 0.0);
            std::fill_n(h + begin, m, 0.0);
            best.assign(task.gains + begin, task.gains + begin + m);
            std::partial_sort(best.begin(), best.begin() + top, best.end(), std::greater<>());
            double largest = 0, reached = 0;
            for (index_t r = 0; r < top; ++r) largest += best[at(r)] * discount[at(r)];
            ndcg[q] = 1;
            if (!(largest > 0)) continue;
            order.resize(at(m));
            std::iota(order.begin(), order.end(), 0);
            const double* own = scores + begin;
            std::stable_sort(order.begin(), order.end(), [own](index_t a, index_t b) { return own[a] > own[b]; });
            score.clear();
            gain.clear();
            for (const index_t row : order) {
                score.push_back(own[row]);
                gain.push_back(task.gains[begin + row]);
            }
            for (index_t r = 0; r < top; ++r) reached += gain[at(r)] * discount[at(r)];
            ndcg[q] = reached / largest;
            own_g.assign(at(m), 0.0);
            own_h.assign(at(m), 0.0);
            size.resize(at(m));
            double sum = 0;
            const bool spread = score.front() != score.back();
            for (index_t i = 0; i < top; ++i)
                sum += pairs(i, m, score.data(), gain.data(), discount.data(), 1 / largest, spread, own_g.data(), own_h.data(), size.data());
            const double scale = sum > 0 ? std::log2(1 + sum) / sum : 1.0;
            for (index_t r = 0; r < m; ++r) {
                g[begin + order[at(r)]] = scale * own_g[at(r)];
                h[begin + order[at(r)]] = scale * own_h[at(r)];
            }
        }
    });
}

}  // namespace assay::ensembles
