// Condensed subsets are consistent; the gradient of the large margin loss is its slope.
#include <limits>
#include <numeric>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/neighbours/condensed.hpp"
#include "assay/neighbours/large_margin.hpp"
#include "check.hpp"

using namespace assay;
using namespace assay::neighbours;

TEST("the nearest kept row of every row has its class") {
    const index_t n = 300, d = 2;
    Random random(1);
    std::vector<double> x(n * d);
    for (double& value : x) value = random.normal();
    std::vector<std::int32_t> codes(n);
    for (index_t i = 0; i < n; ++i) codes[i] = x[2 * i] * x[2 * i + 1] > 0 ? 1 : 0;
    std::vector<std::int64_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto rows = c_matrix<const double>(x.data(), n, d);
    const Condensed found = condense(Metric::euclidean, rows, codes.data(), order.data());
    CHECK(found.kept.size() < 150);
    CHECK(found.after_pass.back() == static_cast<std::int64_t>(found.kept.size()));
    for (index_t i = 0; i < n; ++i) {
        double best = std::numeric_limits<double>::infinity();
        std::int32_t code = -1;
        for (const std::int64_t other : found.kept) {
            double total = 0.0;
            for (index_t j = 0; j < d; ++j) total += (rows(i, j) - rows(other, j)) * (rows(i, j) - rows(other, j));
            if (total < best) {
                best = total;
                code = codes[other];
            }
        }
        CHECK(code == codes[i]);
    }
}

TEST("the gradient of the large margin loss is the slope of the loss") {
    const index_t n = 6, q = 3;
    Random random(2);
    std::vector<double> z(n * q), gradient(n * q), other(n * q);
    for (double& value : z) value = random.normal();
    const std::vector<std::int64_t> targets{1, 2, 0, 2, 0, 1, 4, 5, 3, -1, 3, 4};
    const std::vector<std::int64_t> impostors{3, 4, 5, 3, 4, 5, 3, 4, -1, 0, 1, 2, 0, 1, 2, 0, -1, 2};
    const auto lists = [](const std::vector<std::int64_t>& list) {
        return c_matrix<const std::int64_t>(list.data(), 6, static_cast<index_t>(list.size()) / 6);
    };
    const auto loss = [&](double* out) {
        return large_margin_loss(c_matrix<const double>(z.data(), n, q), lists(targets), lists(impostors), 0.4, out, 2);
    };
    loss(gradient.data());
    for (std::size_t c = 0; c < z.size(); ++c) {
        const double step = 1e-6, kept = z[c];
        z[c] = kept + step;
        const double above = loss(other.data());
        z[c] = kept - step;
        const double below = loss(other.data());
        z[c] = kept;
        CHECK_NEAR(gradient[c], (above - below) / (2 * step), 1e-5);
    }
}
