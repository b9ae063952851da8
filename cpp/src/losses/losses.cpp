#include "assay/losses/losses.hpp"

#include <numeric>

#include "assay/common/threads.hpp"

namespace assay {
namespace {

constexpr index_t block = 256;  // rows whose losses are summed pairwise

struct Chunk {
    const LossRows& rows;
    index_t begin, end;
    double* gradient;
    double* hessian;
};

template <class Policy>
ASSAY_INLINE double single_scores(const Chunk& c) {
    double total = 0.0, value[block], gradient[block], hessian[block], weight[block];
    for (index_t first = c.begin; first < c.end; first += block) {
        const index_t count = std::min(block, c.end - first);
        const double* const y = c.rows.y.data + first;
        const double* const raw = c.rows.raw.data + first;
        for (index_t i = 0; i < count; ++i) weight[i] = c.rows.weights.empty() ? 1.0 : c.rows.weights[first + i];
        for (index_t i = 0; i < count; ++i) {
            const losses::LossTerms terms = Policy::one(y[i], raw[i], c.rows.parameter);
            value[i] = weight[i] > 0.0 ? weight[i] * terms.value : 0.0;
            gradient[i] = weight[i] * terms.gradient;
            hessian[i] = weight[i] * terms.hessian;
        }
        double sum = 0.0;
        for (index_t i = 0; i < count; ++i) sum += value[i];
        total += sum;
        if (c.gradient != nullptr) std::copy_n(gradient, count, c.gradient + first);
        if (c.hessian != nullptr) std::copy_n(hessian, count, c.hessian + first);
    }
    return total;
}

template <class Policy>
ASSAY_INLINE double chunk_with(const Chunk& c) {
    const index_t outputs = c.rows.raw.cols;
    if (outputs == 1) return single_scores<Policy>(c);
    std::vector<double> gradient(static_cast<std::size_t>(outputs)), hessian(gradient.size());
    double total = 0.0;
    for (index_t i = c.begin; i < c.end; ++i) {
        const double weight = c.rows.weights.empty() ? 1.0 : c.rows.weights[i];
        const double value =
            Policy::row(c.rows.raw.row(i), outputs, c.rows.y[i], c.rows.parameter, gradient.data(), hessian.data());
        if (weight > 0.0) total += weight * value;
        for (index_t k = 0; k < outputs; ++k) {
            if (c.gradient != nullptr) c.gradient[i * outputs + k] = weight * gradient[static_cast<std::size_t>(k)];
            if (c.hessian != nullptr) c.hessian[i * outputs + k] = weight * hessian[static_cast<std::size_t>(k)];
        }
    }
    return total;
}

ASSAY_INLINE double chunk_body(const Chunk& c) {
    using namespace losses;
    switch (c.rows.loss) {
#define ASSAY_CASE(name, ...) \
    case Loss::name: return chunk_with<__VA_ARGS__>(c);
        ASSAY_LOSSES(ASSAY_CASE)
#undef ASSAY_CASE
        case Loss::count: break;
    }
    return 0.0;
}
ASSAY_DISPATCH(double, chunk_sums, chunk_body, (const Chunk& c), (c))

}  // namespace

double loss_gradient(const LossRows& rows, double* gradient, double* hessian, int threads) {
    constexpr index_t grain = 4096;
    const index_t n = rows.raw.rows;
    std::vector<double> sums(static_cast<std::size_t>(chunk_count(n, grain)));
    parallel_chunks(n, grain, threads, [&](index_t c, index_t begin, index_t end) {
        sums[static_cast<std::size_t>(c)] = chunk_sums({rows, begin, end, gradient, hessian});
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::vector<std::string> loss_names() {
#define ASSAY_NAME(name, ...) #name,
    return {ASSAY_LOSSES(ASSAY_NAME)};
#undef ASSAY_NAME
}

}  // namespace assay
