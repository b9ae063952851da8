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
    mixtures::GaussianComponents one{1, false, 0, &constant, means.data(), whitening.data()};
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
TEST("factors give the density of their covariance and sums of rows with hidden factors") {
    const index_t n = 600, d = 6, q = 2;
    Random random(8);
    std::vector<double> cells(static_cast<std::size_t>(n * d));
    for (double& cell : cells) cell = random.normal();
    const auto rows = c_matrix<const double>(cells.data(), n, d);
    const std::vector<double> means(static_cast<std::size_t>(d), -0.1);
    std::vector<double> whitening(static_cast<std::size_t>((q + 1) * d));
    for (index_t t = 0; t < d; ++t) {
        whitening[static_cast<std::size_t>(t)] = 2.0;  // inverse deviations; the lines of R are small beside them
        for (index_t f = 0; f < q; ++f) whitening[static_cast<std::size_t>((f + 1) * d + t)] = 0.2 * random.normal();
    }
    const double constant = 0.5;
    const mixtures::GaussianComponents one{1, false, q, &constant, means.data(), whitening.data()};
    std::vector<double> density(static_cast<std::size_t>(n)), moments(static_cast<std::size_t>((q + 2) * (d + 1)));
    mixtures::gaussian_pass(rows, nullptr, one, nullptr, density.data(), nullptr, moments.data(), 2);
    double hidden_product = 0.0, square_sum = 0.0;
    for (index_t i = 0; i < n; ++i) {
        double square = 0.0, hidden[q] = {};
        for (index_t t = 0; t < d; ++t) {
            const double gap = rows(i, t) + 0.1;
            square += 4.0 * gap * gap;
            for (index_t f = 0; f < q; ++f) hidden[f] += whitening[static_cast<std::size_t>((f + 1) * d + t)] * gap;
        }
        for (index_t f = 0; f < q; ++f) square -= hidden[f] * hidden[f];
        CHECK_NEAR(density[static_cast<std::size_t>(i)], 0.5 - 0.5 * square, 1e-10);
        hidden_product += hidden[1] * (rows(i, 3) + 0.1);
        square_sum += (rows(i, 3) + 0.1) * (rows(i, 3) + 0.1);
    }
    CHECK_NEAR(moments[static_cast<std::size_t>((d + 1) + 3)], hidden_product, 1e-9);
    CHECK_NEAR(moments[static_cast<std::size_t>(q * (d + 1) + d)], static_cast<double>(n), 1e-9);
    CHECK_NEAR(moments[static_cast<std::size_t>((q + 1) * (d + 1) + 3)], square_sum, 1e-9);
}
