#include "assay/linear/l1_logistic.hpp"

#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// A random table by row and by column, with weights and codes.
struct Table {
    index_t n, p;
    std::vector<double> row_values, weights;
    std::vector<std::int32_t> row_indices, codes;
    std::vector<std::int64_t> row_starts{0};

    Table(index_t n_, index_t p_) : n(n_), p(p_) {
        Random random(3);
        std::vector<double> cells(static_cast<std::size_t>(n * p));
        for (double& cell : cells) cell = random.uniform() < 0.3 ? 1.0 + random.normal() : 0.0;
        const auto keep = [](double cell, index_t place, auto& values, auto& indices) {
            if (cell == 0.0) return;
            values.push_back(cell);
            indices.push_back(static_cast<std::int32_t>(place));
        };
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < p; ++j)
                keep(cells[static_cast<std::size_t>(i * p + j)], j, row_values, row_indices);
            row_starts.push_back(static_cast<std::int64_t>(row_values.size()));
            codes.push_back(cells[static_cast<std::size_t>(i * p)] + random.normal() > 0.5 ? 1 : 0);
            weights.push_back(random.uniform() < 0.2 ? 0.0 : 0.5 + random.uniform());
        }
    }
    SparseMatrix rows() const { return {row_values.data(), row_indices.data(), row_starts.data(), n, p}; }
};

}  // namespace

TEST("the optimality conditions of logistic regression with an absolute penalty hold at the end") {
    const Table table(300, 40);
    const std::vector<double> ones(40, 1.0), ridge(40, 0.1), l1(40, 4.0);
    for (const bool intercept : {true, false})
        for (const int threads : {1, 3}) {
            const L1LogisticProblem problem{table.rows(), {table.codes.data(), 300},
                                            {table.weights.data(), 300}, {ones.data(), 40}, {l1.data(), 40},
                                            {ridge.data(), 40}, intercept};
            std::vector<double> g(41, 0.0);
            const L1LogisticResult found = l1_logistic(problem, 1e-9, 100, threads, g.data());
            CHECK(found.status == L1LogisticStatus::converged);
            for (std::size_t s = 1; s < found.steps.size(); ++s)
                CHECK(found.steps[s].objective <= found.steps[s - 1].objective);
            std::vector<double> gradient(41, 0.0);
            for (index_t i = 0; i < 300; ++i) {
                double eta = g[40];
                for (index_t k = problem.rows.begin(i); k < problem.rows.end(i); ++k)
                    eta += g[static_cast<std::size_t>(problem.rows.indices[k])] * problem.rows.values[k];
                const double r = table.weights[static_cast<std::size_t>(i)] *
                                 (1.0 / (1.0 + std::exp(-eta)) - table.codes[static_cast<std::size_t>(i)]);
                for (index_t k = problem.rows.begin(i); k < problem.rows.end(i); ++k)
                    gradient[static_cast<std::size_t>(problem.rows.indices[k])] += r * problem.rows.values[k];
                gradient[40] += r;
            }
            if (intercept) CHECK_NEAR(gradient[40], 0.0, 1e-6);
            else CHECK(g[40] == 0.0);
            int zeros = 0;
            for (std::size_t j = 0; j < 40; ++j) {
                const double slope = gradient[j] + 0.1 * g[j];
                if (g[j] == 0.0) {
                    CHECK(std::abs(slope) <= 4.0 + 1e-6);
                    ++zeros;
                } else {
                    CHECK_NEAR(slope, -std::copysign(4.0, g[j]), 1e-6);
                }
            }
            CHECK(zeros > 5 && zeros < 40);
        }
}
