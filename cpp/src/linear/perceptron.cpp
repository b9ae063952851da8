#include "assay/linear/perceptron.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "assay/common/interrupt.hpp"
#include "assay/common/random.hpp"
#include "assay/common/lanes.hpp"

namespace assay {
namespace {

struct Pass {
    Matrix<const double> x;
    const std::int32_t* codes;
    const double* factors;
    const std::int64_t* order;
    index_t outputs;
    bool intercept;
    double* theta;
    double* drift;
    double* scores;
    double seen;
    SparseMatrix sparse;
};

template <int W>
ASSAY_INLINE double score(const double* theta, const double* x, index_t p) {
    Eight<W> sum = {};
    index_t j = 0;
    for (; j + 8 <= p; j += 8) sum += Eight<W>::load(theta + j) * Eight<W>::load(x + j);
    const auto fourth = [&](int l) __attribute__((always_inline)) { return sum.lane(l) + sum.lane(l + 4); };
    double total = (fourth(0) + fourth(1)) + (fourth(2) + fourth(3));
    for (; j < p; ++j) total += theta[j] * x[j];
    return total + theta[p];
}

template <int W>
ASSAY_INLINE double score_row(const Pass& s, index_t output, index_t row) {
    const index_t p = s.x.cols;
    const double* const theta = s.theta + output * (p + 1);
    if (s.sparse.empty()) return score<W>(theta, s.x.row(row), p);
    double total = 0.0;
    for (index_t k = s.sparse.begin(row); k < s.sparse.end(row); ++k)
        total += theta[s.sparse.indices[k]] * s.sparse.values[k];
    return total + theta[p];
}

ASSAY_INLINE void move(const Pass& s, index_t output, index_t row, double length, double seen) {
    const index_t p = s.x.cols;
    double* const theta = s.theta + output * (p + 1);
    double* const drift = s.drift + output * (p + 1);
    if (s.sparse.empty()) {
        const double* const x = s.x.row(row);
        for (index_t j = 0; j < p; ++j) {
            theta[j] += length * x[j];
            drift[j] += seen * (length * x[j]);
        }
    } else {
        for (index_t k = s.sparse.begin(row); k < s.sparse.end(row); ++k) {
            theta[s.sparse.indices[k]] += length * s.sparse.values[k];
            drift[s.sparse.indices[k]] += seen * (length * s.sparse.values[k]);
        }
    }
    if (s.intercept) {
        theta[p] += length;
        drift[p] += seen * length;
    }
}

template <int W>
ASSAY_INLINE std::int64_t epoch_body(const Pass& s) {
    const index_t p = s.x.cols;
    std::int64_t mistakes = 0;
    for (index_t i = 0; i < s.x.rows; ++i) {
        const index_t row = s.order[i], own = s.codes[row];
        // Rows come in random order: asked for some steps ahead, they are there when their turn comes.
        if (s.sparse.empty() && i + 8 < s.x.rows)
            for (index_t j = 0; j < std::min<index_t>(p, 256); j += 8) __builtin_prefetch(s.x.row(s.order[i + 8]) + j);
        const double seen = s.seen + static_cast<double>(i);
        if (s.outputs == 1) {
            const double sign = own > 0 ? 1.0 : -1.0;
            if (sign * score_row<W>(s, 0, row) > 0.0) continue;
            ++mistakes;
            move(s, 0, row, sign * s.factors[own], seen);
            continue;
        }
        index_t rival = own == 0 ? 1 : 0;
        for (index_t k = 0; k < s.outputs; ++k) {
            s.scores[k] = score_row<W>(s, k, row);
            if (k != own && s.scores[k] > s.scores[rival]) rival = k;
        }
        if (s.scores[own] > s.scores[rival]) continue;
        ++mistakes;
        move(s, own, row, s.factors[own], seen);
        move(s, rival, row, -s.factors[own], seen);
    }
    return mistakes;
}
ASSAY_DISPATCH_DOUBLES(std::int64_t, one_epoch, epoch_body, (const Pass& pass), (pass))

}  // namespace

std::vector<std::int64_t> perceptron_epochs(Matrix<const double> x, Vector<const std::int32_t> codes,
                                            const double* factors, index_t outputs, bool intercept,
                                            index_t max_epochs, index_t patience, bool shuffle, std::uint64_t key,
                                            PerceptronState& state, const SparseMatrix& sparse) {
    std::vector<std::int64_t> mistakes, order(static_cast<std::size_t>(x.rows));
    std::vector<double> scores(static_cast<std::size_t>(outputs));
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    index_t waited = 0;
    std::iota(order.begin(), order.end(), 0);
    for (index_t epoch = 0; epoch < max_epochs && !interrupted(); ++epoch) {
        if (shuffle) {
            std::iota(order.begin(), order.end(), 0);
            Random random(key, static_cast<std::uint64_t>(state.epochs));
            for (std::size_t i = order.size() - 1; i > 0 && i < order.size(); --i)
                std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
        }
        mistakes.push_back(one_epoch({x, codes.data, factors, order.data(), outputs, intercept, state.theta.data(),
                                      state.drift.data(), scores.data(), static_cast<double>(state.seen), sparse}));
        state.seen += x.rows;
        ++state.epochs;
        waited = mistakes.back() < best ? 0 : waited + 1;
        best = std::min(best, mistakes.back());
        if (mistakes.back() == 0 || (patience > 0 && waited >= patience)) break;
    }
    return mistakes;
}

}  // namespace assay
