#include "assay/losses/losses.hpp"

#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/losses/softmax.hpp"
#include "check.hpp"

using namespace assay;

TEST("losses agree on every instruction set and with the sum of single rows") {
    const Simd best = simd_supported();
    const index_t n = 1000;
    Random random(5);
    std::vector<double> y, raw, weights;
    for (index_t i = 0; i < n; ++i) {
        y.push_back(std::floor(3.0 * random.uniform()) + 1.0);
        weights.push_back(random.uniform());
    }
    for (index_t i = 0; i < 4 * n; ++i) raw.push_back(random.normal());
    for (int number = 0; number < static_cast<int>(Loss::count); ++number)
        for (const index_t outputs : {index_t{1}, index_t{4}}) {
            std::vector<double> gradient(static_cast<std::size_t>(n * outputs)), hessian(gradient.size());
            std::vector<double> first_gradient, first_hessian;
            double first = 0.0, single = 0.0;
            LossRows rows{static_cast<Loss>(number), 1.5, {y.data(), n}, c_matrix<const double>(raw.data(), n, outputs),
                          {weights.data(), n}};
            for (int level = 0; level <= static_cast<int>(best); ++level) {
                set_simd_level(static_cast<Simd>(level));
                const double value = loss_gradient(rows, gradient.data(), hessian.data(), 2);
                if (level == 0) {
                    first = value;
                    first_gradient = gradient;
                    first_hessian = hessian;
                }
                CHECK_NEAR(value, first, 1e-10 * std::abs(first));
                for (std::size_t i = 0; i < gradient.size(); ++i) {
                    CHECK_NEAR(gradient[i], first_gradient[i], 1e-12 * (1.0 + std::abs(first_gradient[i])));
                    CHECK_NEAR(hessian[i], first_hessian[i], 1e-12 * (1.0 + std::abs(first_hessian[i])));
                }
            }
            set_simd_level(best);
            for (index_t i = 0; i < n; ++i) {
                const LossRows row{rows.loss, 1.5, {y.data() + i, 1}, c_matrix<const double>(raw.data() + i * outputs, 1, outputs),
                                   {weights.data() + i, 1}};
                single += loss_gradient(row, nullptr, nullptr, 1);
            }
            CHECK_NEAR(single, first, 1e-10 * std::abs(first));
        }
    CHECK(loss_names().size() == static_cast<std::size_t>(Loss::count));
}

TEST("softmax of rows side by side is that of each row") {
    constexpr index_t rows = losses::softmax_rows;
    Random random(8);
    for (const index_t classes : {index_t{2}, index_t{3}, index_t{7}}) {
        std::vector<double> f(static_cast<std::size_t>(classes * rows)), own(rows), loss(rows), missed(rows);
        for (double& cell : f) cell = 30.0 * random.normal();
        for (double& cell : own) cell = static_cast<double>(random.below(static_cast<std::uint32_t>(classes)));
        for (index_t k = 0; k < classes; ++k) f[static_cast<std::size_t>(k * rows)] = 1.5;  // a row of equal scores
        const std::vector<double> before = f;
        losses::softmax_of_rows(f.data(), classes, own.data(), loss.data(), missed.data());
        for (index_t i = 0; i < rows; ++i) {
            std::vector<double> one;
            for (index_t k = 0; k < classes; ++k) one.push_back(before[static_cast<std::size_t>(k * rows + i)]);
            double expected = 0.0;
            const auto at = static_cast<std::size_t>(i);
            const double value = losses::softmax(one.data(), classes, classes, static_cast<index_t>(own[at]), expected);
            CHECK_NEAR(loss[at], value, 1e-13 * (1.0 + value));
            CHECK_NEAR(missed[at], expected, 1e-14);
            for (index_t k = 0; k < classes; ++k)
                CHECK_NEAR(f[static_cast<std::size_t>(k * rows + i)], one[static_cast<std::size_t>(k)], 1e-14);
        }
    }
}
