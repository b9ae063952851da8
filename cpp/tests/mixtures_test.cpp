#include "assay/mixtures/gaussian.hpp"

#include <vector>

#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

TEST("the moments of one component are those of the rows, and the density is the normal one") {
    const index_t n = 777, d = 5;
    Random random(3);
    std::vector<double> cells(static_cast<std::size_t>(n * d));
    for (double& cell : cells) cell = random.normal();
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    const std::vector<double> means(static_cast<std::size_t>(d), 0.25);
    std::vector<double> whitening(static_cast<std::size_t>(d * d), 0.0);
    for (index_t t = 0; t < d; ++t) whitening[static_cast<std::size_t>(t * d + t)] = 2.0;
    whitening[static_cast<std::size_t>(3 * d + 1)] = 0.5;
    const double constant = 1.5;
    mixtures::GaussianComponents one{1, false, &constant, means.data(), whitening.data()};
    std::vector<double> density(static_cast<std::size_t>(n)), moments(static_cast<std::size_t>((d + 1) * (d + 1)));
    const double total = mixtures::gaussian_pass(rows, nullptr, one, nullptr, density.data(), nullptr, moments.data(), 2);
    double sum = 0.0, product = 0.0;
    for (index_t i = 0; i < n; ++i) {
        double square = 0.0;
        for (index_t a = 0; a < d; ++a) {
            double y = 0.0;
            for (index_t b = 0; b < d; ++b) y += whitening[static_cast<std::size_t>(a * d + b)] * (rows(i, b) - 0.25);
            square += y * y;
        }
        CHECK_NEAR(density[static_cast<std::size_t>(i)], 1.5 - 0.5 * square, 1e-10);
        sum += density[static_cast<std::size_t>(i)];
        product += (rows(i, 4) - 0.25) * (rows(i, 2) - 0.25);
    }
    CHECK_NEAR(total, sum, 1e-8);
    CHECK_NEAR(moments[static_cast<std::size_t>(2 * (d + 1) + 4)], product, 1e-9);
    CHECK_NEAR(moments[static_cast<std::size_t>(d * (d + 1) + d)], static_cast<double>(n), 1e-9);
}
