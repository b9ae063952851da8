#include "assay/kernel_machines/kernel_perceptron.hpp"

#include <algorithm>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::kernel_machines {
namespace {

template <class T>
ASSAY_INLINE void shift_body(double* f, const T* k, double step, index_t n) {
    for (index_t i = 0; i < n; ++i) f[i] += step * static_cast<double>(k[i]);
}
ASSAY_DISPATCH(void, shift_float, shift_body<float>, (double* f, const float* k, double step, index_t n), (f, k, step, n))
ASSAY_DISPATCH(void, shift_double, shift_body<double>, (double* f, const double* k, double step, index_t n), (f, k, step, n))
void shift(double* f, const float* k, double step, index_t n) { shift_float(f, k, step, n); }
void shift(double* f, const double* k, double step, index_t n) { shift_double(f, k, step, n); }

}  // namespace

template <class T>
PerceptronState kernel_perceptron(RowSource<T>& source, const std::int32_t* codes, index_t classes,
                                  const PerceptronOptions& options) {
    const index_t n = source.size(), outputs = classes == 2 ? 1 : classes;
    PerceptronState state;
    state.beta.assign(static_cast<std::size_t>(n * outputs), 0.0);
    state.drift = state.beta;
    state.offset.assign(static_cast<std::size_t>(outputs), 0.0);
    state.offset_drift = state.offset;
    std::vector<double> f(static_cast<std::size_t>(n * outputs), 0.0);  // by output
    std::vector<index_t> order(static_cast<std::size_t>(n));
    index_t best = n + 1, idle = 0;
    const auto step = [&](index_t row, index_t output, double size) {
        const std::int32_t which = static_cast<std::int32_t>(row);
        const T* k = nullptr;
        source.fetch(&which, 1, &k, options.threads);
        shift(f.data() + output * n, k, size, n);
        const auto at = static_cast<std::size_t>(row * outputs + output);
        state.beta[at] += size;
        state.drift[at] += size * state.seen;
        state.offset[static_cast<std::size_t>(output)] += size;
        state.offset_drift[static_cast<std::size_t>(output)] += size * state.seen;
    };
    for (index_t epoch = 0; epoch < options.max_epochs && !interrupted(); ++epoch) {
        std::iota(order.begin(), order.end(), index_t{0});
        if (options.shuffle) {
            Random random(options.key, static_cast<std::uint64_t>(epoch));
            for (index_t i = n - 1; i > 0; --i)
                std::swap(order[static_cast<std::size_t>(i)], order[random.below(static_cast<std::uint32_t>(i + 1))]);
        }
        index_t mistakes = 0;
        for (const index_t row : order) {
            if ((mistakes & 255) == 255 && interrupted()) break;
            const index_t own = codes[row];
            if (outputs == 1) {
                const double sign = own == 1 ? 1.0 : -1.0;
                if (sign * (f[static_cast<std::size_t>(row)] + state.offset[0]) <= 0.0) {
                    step(row, 0, sign);
                    ++mistakes;
                }
            } else {
                const auto score = [&](index_t k) {
                    return f[static_cast<std::size_t>(k * n + row)] + state.offset[static_cast<std::size_t>(k)];
                };
                index_t rival = own == 0 ? 1 : 0;
                for (index_t k = 0; k < outputs; ++k)
                    if (k != own && score(k) > score(rival)) rival = k;
                if (score(own) <= score(rival)) {
                    step(row, own, 1.0);
                    step(row, rival, -1.0);
                    ++mistakes;
                }
            }
            state.seen += 1.0;
        }
        state.mistakes.push_back(mistakes);
        if (mistakes == 0) break;
        idle = mistakes < best ? 0 : idle + 1;
        best = std::min(best, mistakes);
        if (options.patience > 0 && idle >= options.patience) break;
    }
    return state;
}

template PerceptronState kernel_perceptron(RowSource<float>&, const std::int32_t*, index_t, const PerceptronOptions&);
template PerceptronState kernel_perceptron(RowSource<double>&, const std::int32_t*, index_t, const PerceptronOptions&);

}  // namespace assay::kernel_machines
