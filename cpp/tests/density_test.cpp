// Kernel sums by the tree against direct sums, and linear binning.
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/density/kernel_sums.hpp"
#include "check.hpp"

using namespace assay;
using density::Kernel;

namespace {

double shape(Kernel kernel, double u) {
    if (kernel == Kernel::gaussian) return std::exp(-0.5 * u);
    return kernel == Kernel::box ? static_cast<double>(u <= 1.0) : std::max(0.0, 1.0 - u);
}

}  // namespace

TEST("kernel sums by the tree equal direct sums, with weights and a row left out") {
    const index_t n = 700, d = 2;
    Random random(3);
    std::vector<double> x(n * d), weights(n);
    for (double& value : x) value = random.normal();
    for (double& value : weights) value = 1.0 + static_cast<double>(random.below(3));
    const auto rows = c_matrix<const double>(x.data(), n, d);
    const neighbours::KdTree tree = neighbours::build_kd_tree(rows, 2);
    const neighbours::KdTreeView view = tree.view(rows);
    const std::vector<std::int64_t> left_out{5, -1, 699};
    const std::vector<double> bandwidths{0.3, 0.7, 0.3};
    const std::vector<double> queries{x[10], x[11], 0.2, -0.1, x[1398], x[1399]};
    for (const Kernel kernel : {Kernel::gaussian, Kernel::epanechnikov, Kernel::box}) {
        double found[3];
        log_kernel_sums(view, kernel, weights.data(), c_matrix<const double>(queries.data(), 3, d), {bandwidths.data(), 3, 1},
                        left_out.data(), 0.0, found, 2);
        for (int q = 0; q < 3; ++q) {
            double expected = 0.0;
            for (index_t i = 0; i < n; ++i) {
                double squared = 0.0;
                for (index_t j = 0; j < d; ++j) squared += std::pow(queries[q * d + j] - x[i * d + j], 2);
                const double weight = weights[i] - (i == left_out[q] ? 1.0 : 0.0);
                expected += weight * shape(kernel, squared / bandwidths[q] / bandwidths[q]);
            }
            CHECK_NEAR(found[q], std::log(expected), 1e-11);
        }
    }
}

TEST("linear binning shares a row among the points around it and keeps all weight") {
    const double rows[] = {0.25, 1.5, 9.0, -3.0}, low[] = {0.0, 0.0}, step[] = {1.0, 1.0}, weights[] = {2.0, 1.0};
    const std::int64_t sizes[] = {3, 3};
    std::vector<double> grid(9, 0.0);
    density::linear_binning(c_matrix(rows, 2, 2), weights, low, step, sizes, grid.data());
    CHECK_NEAR(grid[0 * 3 + 1], 2 * 0.75 * 0.5, 1e-15);
    CHECK_NEAR(grid[0 * 3 + 2], 2 * 0.75 * 0.5, 1e-15);
    CHECK_NEAR(grid[1 * 3 + 1], 2 * 0.25 * 0.5, 1e-15);
    CHECK_NEAR(grid[2 * 3 + 0], 1.0, 1e-15);  // a row beyond the grid counts at its end
    double total = 0.0;
    for (const double value : grid) total += value;
    CHECK_NEAR(total, 3.0, 1e-14);
}
