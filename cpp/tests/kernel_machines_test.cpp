#include "assay/kernel_machines/kernel_perceptron.hpp"
#include "assay/kernel_machines/kernel_rows.hpp"
#include "assay/kernel_machines/smo.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;
using namespace assay::kernel_machines;

namespace {

std::vector<double> normal_cells(index_t count, std::uint64_t key) {
    Random random(key);
    std::vector<double> cells(static_cast<std::size_t>(count));
    for (double& cell : cells) cell = random.normal();
    return cells;
}

double by_definition(const KernelSpec& spec, const double* x, const double* y, index_t d) {
    double product = 0.0, squares = 0.0, sizes = 0.0;
    for (index_t j = 0; j < d; ++j) {
        product += x[j] * y[j];
        squares += (x[j] - y[j]) * (x[j] - y[j]);
        sizes += std::abs(x[j] - y[j]);
    }
    switch (spec.function) {
        case Function::linear: return product;
        case Function::polynomial: return std::pow(spec.gamma * product + spec.coef0, spec.degree);
        case Function::sigmoid: return std::tanh(spec.gamma * product + spec.coef0);
        case Function::gaussian: return std::exp(-spec.gamma * squares);
        default: return std::exp(-spec.gamma * sizes);
    }
}

}  // namespace

namespace {

template <class T>
void check_rows_by_definition(double accuracy) {
    const index_t n = 203, d = 5;
    const auto cells = normal_cells(n * d, 3);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    const Simd best = simd_level();
    for (const double gamma : {0.1, 40.0})
        for (int function = 0; function < function_count; ++function) {
            if (gamma > 1.0 && function < 3) continue;
            const KernelSpec spec{static_cast<Function>(function), gamma, 0.5, 3};
            for (const Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
                if (set_simd_level(level) != level) continue;
                const KernelPanels<T> panels(rows, spec);
                std::vector<T> gram(static_cast<std::size_t>(n * n));
                panels.gram(gram.data(), 2);
                const std::int32_t which[] = {7, 0, 202, 7, 64, 63, 100};
                std::vector<T> some(7 * static_cast<std::size_t>(n));
                T* out[7];
                for (index_t k = 0; k < 7; ++k) out[k] = some.data() + k * n;
                panels.rows(which, 7, out, 3);
                for (index_t k = 0; k < 7; ++k)
                    for (index_t i = 0; i < n; ++i) {
                        const double wanted = by_definition(spec, rows.row(which[k]), rows.row(i), d);
                        CHECK(std::abs(out[k][i] - wanted) <= accuracy * std::max(1.0, std::abs(wanted)));
                        if (i != which[k]) CHECK(out[k][i] == gram[static_cast<std::size_t>(which[k] * n + i)]);
                    }
                std::vector<double> ones(static_cast<std::size_t>(n), 1.0), sums(static_cast<std::size_t>(n));
                panels.sums(rows, c_matrix<const double>(ones.data(), n, 1), sums.data(), 2);
                double total = 0.0;
                for (index_t i = 0; i < n; ++i) total += by_definition(spec, rows.row(5), rows.row(i), d);
                CHECK(std::abs(sums[5] - total) <= 2.5 * accuracy * n);
            }
            set_simd_level(best);
        }
}

}  // namespace

TEST("kernel rows are the kernel by its definition, for every function, instruction set and number of threads") {
    check_rows_by_definition<float>(4e-6);
    check_rows_by_definition<double>(1e-14);
}

TEST("blocks of any size, a small cache, any number of threads, shrunk or not, end at the same minimum") {
    const index_t n = 300, d = 3;
    const auto cells = normal_cells(n * d, 9);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    const auto panels = std::make_shared<const KernelPanels<float>>(rows, KernelSpec{Function::gaussian, 0.3, 0.0, 3});
    std::vector<std::int32_t> row(static_cast<std::size_t>(n));
    std::vector<double> target(row.size()), low(row.size()), high(row.size());
    for (index_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        row[at] = static_cast<std::int32_t>(i);
        target[at] = rows(i, 0) * rows(i, 1) > 0.1 ? 1.0 : -1.0;
        low[at] = std::min(0.0, 2.0 * target[at]);
        high[at] = std::max(0.0, 2.0 * target[at]);
    }
    double first = 0.0;
    index_t shrunk = 0;
    for (const index_t block : {2, 16, 64, 512})
        for (const double cache : {-1.0, 1.0, 1e6}) {
            std::vector<double> beta(row.size(), 0.0), f(row.size(), 0.0), again(row.size(), 0.0), g(row.size(), 0.0);
            SmoOptions options;
            options.tol = 1e-5;
            options.block = block;
            options.max_steps = 1000000;
            options.shrinking = cache > 0.0;
            CachedRows<float> source(panels, cache), other(panels, cache);
            const auto result = solve(source, {n, row.data(), target.data(), low.data(), high.data(), beta.data(), f.data()}, options);
            CHECK(result.status == 1);
            CHECK(result.violation <= 1e-5);
            double sum = 0.0;
            for (const double value : beta) sum += value;
            CHECK(std::abs(sum) < 1e-10);
            if (first == 0.0) first = result.objective;
            CHECK(std::abs(result.objective - first) <= 1e-5 * std::abs(first));
            shrunk += result.shrunk;
            for (index_t i = 0; i < n; i += 37) {
                double value = 0.0;
                for (index_t j = 0; j < n; ++j)
                    value += beta[static_cast<std::size_t>(j)] * by_definition({Function::gaussian, 0.3, 0.0, 3}, rows.row(i), rows.row(j), d);
                CHECK(std::abs(f[static_cast<std::size_t>(i)] - value) <= 1e-4);
            }
            options.threads = 4;
            solve(other, {n, row.data(), target.data(), low.data(), high.data(), again.data(), g.data()}, options);
            CHECK(again == beta);
        }
    CHECK(shrunk >= 4);
}

TEST("of all variables at once only the rows that steps want are made, and the minimum is that of the matrix") {
    const index_t n = 300, d = 3;
    const auto cells = normal_cells(n * d, 9);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    const auto panels = std::make_shared<const KernelPanels<double>>(rows, KernelSpec{Function::gaussian, 0.3, 0.0, 3});
    std::vector<double> gram(static_cast<std::size_t>(n * n));
    panels->gram(gram.data(), 1);
    std::vector<std::int32_t> row(static_cast<std::size_t>(n));
    std::vector<double> target(row.size()), low(row.size()), high(row.size());
    for (index_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i);
        row[at] = static_cast<std::int32_t>(i);
        target[at] = rows(i, 0) > 0.0 ? 1.0 : -1.0;
        low[at] = std::min(0.0, 2.0 * target[at]);
        high[at] = std::max(0.0, 2.0 * target[at]);
    }
    SmoOptions options;
    options.tol = 1e-9;
    options.max_steps = 1000000;
    const auto solved = [&](RowSource<double>& source) {
        std::vector<double> beta(row.size(), 0.0), f(row.size(), 0.0);
        const auto found = solve(source, {n, row.data(), target.data(), low.data(), high.data(), beta.data(), f.data()}, options);
        CHECK(found.status == 1);
        return beta;
    };
    CachedRows<double> lazy(panels, 1e8);
    GramRows<double> whole(c_matrix<const double>(gram.data(), n, n));
    CHECK(solved(lazy) == solved(whole));
    CHECK(lazy.made() < n / 2);
}

TEST("the kernel perceptron separates what its kernel separates, alike from a matrix and from rows") {
    const index_t n = 120, d = 2;
    const auto cells = normal_cells(n * d, 5);
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i)
        codes[static_cast<std::size_t>(i)] = (rows(i, 0) > 0.0 ? 1 : 0) + (rows(i, 1) > 0.0 ? 1 : 0);
    const auto panels = std::make_shared<const KernelPanels<float>>(rows, KernelSpec{Function::gaussian, 2.0, 0.0, 3});
    std::vector<float> gram(static_cast<std::size_t>(n * n));
    panels->gram(gram.data(), 1);
    GramRows<float> whole(c_matrix<const float>(gram.data(), n, n));
    CachedRows<float> made(panels, 1e4);
    const PerceptronOptions options{1000, 0, true, 7, 1};
    const auto one = kernel_perceptron(whole, codes.data(), 3, options);
    const auto other = kernel_perceptron(made, codes.data(), 3, options);
    CHECK(one.mistakes.back() == 0);
    CHECK(one.mistakes == other.mistakes);
    CHECK(one.beta == other.beta);
}
