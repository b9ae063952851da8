#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/linear/double_double_qr.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// Polynomial of degree 5 on 0..20 with every coefficient 1: NIST's Wampler1, on which float64 QR keeps nine digits.
void wampler(std::vector<double>& design, std::vector<double>& target) {
    for (int i = 0; i <= 20; ++i) {
        double power = 1, sum = 0;
        for (int j = 0; j < 6; ++j) {
            design.push_back(power);
            sum += power;
            power *= i;
        }
        target.push_back(sum);
    }
}

}  // namespace

TEST("double-double least squares gives every digit of Wampler1 at every instruction set") {
    std::vector<double> design, target;
    wampler(design, target);
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        const auto fit = exact_least_squares(c_matrix<const double>(design.data(), 21, 6), target.data(), nullptr,
                                             true, 1e-14, 1);
        for (double b : fit.coefficients) CHECK_NEAR(b, 1.0, 1e-15);
        CHECK(fit.residual_squares < 1e-30);
    }
    set_simd_level(best);
}

TEST("a column that repeats another is left out and gets coefficient zero") {
    const std::vector<double> design = {1, 1, 2, 1, 2, 4, 1, 3, 6, 1, 5, 10};
    const std::vector<double> target = {1, 2, 4, 5};
    const auto fit = exact_least_squares(c_matrix<const double>(design.data(), 4, 3), target.data(), nullptr, true,
                                         1e-14, 1);
    CHECK(fit.kept[0] == 1 && fit.kept[1] == 1 && fit.kept[2] == 0);
    CHECK(fit.coefficients[2] == 0 && fit.spread[2] == 0);
}

TEST("weights count as repetition") {
    Random random(7);
    std::vector<double> design, target, weights, long_design, long_target;
    for (int i = 0; i < 12; ++i) {
        const double row[] = {1, random.normal(), random.normal()}, y = random.normal();
        weights.push_back(i % 3 + 1);
        design.insert(design.end(), row, row + 3);
        target.push_back(y);
        for (int copy = 0; copy < i % 3 + 1; ++copy) {
            long_design.insert(long_design.end(), row, row + 3);
            long_target.push_back(y);
        }
    }
    const auto a = exact_least_squares(c_matrix<const double>(design.data(), 12, 3), target.data(), weights.data(),
                                       true, 1e-14, 1);
    const auto b = exact_least_squares(
        c_matrix<const double>(long_design.data(), static_cast<index_t>(long_target.size()), 3), long_target.data(),
        nullptr, true, 1e-14, 1);
    for (int j = 0; j < 3; ++j) {
        CHECK_NEAR(a.coefficients[j], b.coefficients[j], 1e-15);
        CHECK_NEAR(a.spread[j], b.spread[j], 1e-15);
    }
    CHECK_NEAR(a.residual_squares, b.residual_squares, 1e-14);
    CHECK_NEAR(a.total_squares, b.total_squares, 1e-14);
}

TEST("the number of threads does not change a bit") {
    Random random(9);
    std::vector<double> design(4000 * 9), target(4000);
    for (double& v : design) v = random.normal();
    for (double& v : target) v = random.normal();
    const auto run = [&](int threads) {
        return exact_least_squares(c_matrix<const double>(design.data(), 4000, 9), target.data(), nullptr, false,
                                   1e-14, threads);
    };
    const auto one = run(1), three = run(3);
    CHECK(one.coefficients == three.coefficients && one.inverse == three.inverse);
    CHECK(one.residual_squares == three.residual_squares);
}
