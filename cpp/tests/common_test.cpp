#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "assay/common/cholesky.hpp"
#include "assay/common/finite.hpp"
#include "assay/common/lanes.hpp"
#include "assay/common/panels.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "check.hpp"

using namespace assay;

namespace {

ASSAY_INLINE double sum_body(const double* x, index_t n) {
    double total = 0;
    for (index_t i = 0; i < n; ++i) total += x[i];
    return total;
}
ASSAY_DISPATCH(double, sum, sum_body, (const double* x, index_t n), (x, n))

// out = x (x - 3) + 2 x - y + 5 in eight lanes.
template <int W>
ASSAY_INLINE void eight_body(const double* x, const double* y, double* out) {
    const auto a = Eight<W>::load(x), b = Eight<W>::load(y);
    Eight<W> sum = a * (a - 3.0) + 2.0 * a;
    sum -= b;
    sum += Eight<W>::all(5.0);
    sum.store(out);
    for (int l = 0; l < 8; ++l) CHECK(sum.lane(l) == out[l]);
}
ASSAY_DISPATCH_DOUBLES(void, eight, eight_body, (const double* x, const double* y, double* out), (x, y, out))

}  // namespace

TEST("a Cholesky factor gives the matrix back, its substitutions solve, and an indefinite matrix has none") {
    for (const index_t n : {1, 2, 7, 19, 40}) {
        std::vector<double> a(static_cast<std::size_t>(n * n)), factor, x(static_cast<std::size_t>(n)), b;
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) a[i * n + j] = 1.0 / static_cast<double>(1 + i + j) + (i == j ? 1.0 + 0.1 * i : 0.0);
        for (index_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 5) - 1.5;
        factor = a;
        CHECK(cholesky(factor.data(), n));
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j <= i; ++j) {
                double sum = 0;
                for (index_t k = 0; k <= j; ++k) sum += factor[i * n + k] * factor[j * n + k];
                CHECK_NEAR(sum, a[i * n + j], 1e-13);
            }
        b.assign(static_cast<std::size_t>(n), 0.0);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) b[i] += a[i * n + j] * x[j];
        solve_lower(factor.data(), n, b.data());
        solve_upper(factor.data(), n, b.data());
        for (index_t i = 0; i < n; ++i) CHECK_NEAR(b[i], x[i], 1e-12);
    }
    std::vector<double> indefinite{1.0, 2.0, 2.0, 1.0}, not_numbers{NAN};
    CHECK(!cholesky(indefinite.data(), 2) && !cholesky(not_numbers.data(), 1));
}

TEST("philox reproduces the known-answer vectors of its authors") {
    const auto zero = philox(0, 0, 0);
    CHECK(zero[0] == 0x6627e8d5U && zero[1] == 0xe169c58dU && zero[2] == 0xbc57ac4cU && zero[3] == 0x9b00dbd8U);
    const auto ones = philox(~0ULL, ~0ULL, ~0ULL);
    CHECK(ones[0] == 0x408f276dU && ones[1] == 0x41c83b0eU && ones[2] == 0xa20bc7c6U && ones[3] == 0x6d5451fdU);
    const auto pi = philox(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL);
    CHECK(pi[0] == 0xd16cfe09U && pi[1] == 0x94fdccebU && pi[2] == 0x5001e420U && pi[3] == 0x24126ea1U);
}

TEST("bounded integers are uniform") {
    Random random(42);
    int counts[7] = {};
    for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
    double chi2 = 0;
    for (int c : counts) chi2 += (c - 10000.0) * (c - 10000.0) / 10000.0;
    CHECK(chi2 < 22.5);  // chi-square with 6 degrees of freedom, p = .001
}

TEST("normal draws have mean 0 and variance 1") {
    Random random(1, 5);
    double sum1 = 0, sum2 = 0;
    for (int i = 0; i < 100000; ++i) {
        const double z = random.normal();
        sum1 += z;
        sum2 += z * z;
    }
    CHECK_NEAR(sum1 / 1e5, 0.0, 0.015);
    CHECK_NEAR(sum2 / 1e5, 1.0, 0.02);
}

TEST("every instruction set gives the same sum of small integers") {
    std::vector<double> x(1001);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        CHECK(simd_level() == static_cast<Simd>(level));
        CHECK(sum(x.data(), 1001) == 500500.0);
    }
    set_simd_level(best);
}

TEST("chunks cover every row once, for any number of threads") {
    for (int threads : {1, 2, 5}) {
        std::vector<int> seen(1003, 0);
        parallel_chunks(1003, 64, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
        });
        for (int times : seen) CHECK(times == 1);
    }
}

TEST("an error in a chunk reaches who asked, and the threads go on working") {
    for (int threads : {1, 2, 4}) {
        for (index_t bad : {index_t{0}, index_t{7}, index_t{63}}) {
            std::string said;
            try {
                parallel_chunks(64, 1, threads, [&](index_t c, index_t, index_t) {
                    if (c == bad) throw std::runtime_error("chunk " + std::to_string(c));
                });
            } catch (const std::runtime_error& error) {
                said = error.what();
            }
            CHECK(said == "chunk " + std::to_string(bad));
        }
        std::atomic<int> done{0};
        parallel_chunks(64, 1, threads, [&](index_t, index_t, index_t) { ++done; });
        CHECK(done == 64);
    }
}

TEST("numbers of threads stay below the team, and a region inside of a region is one thread's own") {
    std::vector<std::atomic<int>> inside(3);
    std::atomic<bool> shared{false}, beyond{false};
    parallel_chunks(50, 1, 3, [&](index_t, index_t, index_t) {
        const int outer = thread_number();
        if (outer < 0 || outer >= 3) {
            beyond = true;
            return;
        }
        if (++inside[static_cast<std::size_t>(outer)] > 1) shared = true;
        parallel_chunks(8, 1, 3, [&](index_t, index_t, index_t) {
            if (thread_number() != 0) beyond = true;
        });
        if (thread_number() != outer) beyond = true;
        --inside[static_cast<std::size_t>(outer)];
    });
    CHECK(!shared);
    CHECK(!beyond);
}

TEST("regions that several threads ask for at once are each done once") {
    std::atomic<index_t> wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller)
        callers.emplace_back([&] {
            for (int again = 0; again < 200; ++again) {
                std::vector<index_t> sums(37, 0);
                parallel_chunks(370, 10, 3, [&](index_t c, index_t begin, index_t end) {
                    for (index_t i = begin; i < end; ++i) sums[static_cast<std::size_t>(c)] += i;
                });
                for (index_t c = 0; c < 37; ++c)
                    if (sums[static_cast<std::size_t>(c)] != 100 * c + 45) ++wrong;
            }
        });
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
}

TEST("eight lanes compute alike in vectors of every width, at addresses of any alignment") {
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        alignas(64) double x[9], y[9], out[9];
        for (int l = 0; l < 9; ++l) x[l] = l - 4.0, y[l] = 7.0 * l;
        eight(x + 1, y + 1, out + 1);
        for (int l = 1; l < 9; ++l) CHECK(out[l] == x[l] * (x[l] - 3.0) + 2.0 * x[l] - y[l] + 5.0);
    }
    set_simd_level(best);
}

TEST("a panel holds its rows turned and scaled, for any number of columns and every instruction set") {
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        for (index_t d = 1; d <= 21; ++d)
            for (index_t used : {index_t{8}, panel_lanes}) {
                std::vector<double> x(static_cast<std::size_t>(panel_lanes * d)), panel(x.size(), -1.0), mean(21, 2.0), factor(21, 0.5);
                for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
                const double* rows[panel_lanes];
                for (index_t r = 0; r < panel_lanes; ++r) rows[r] = x.data() + r * d;
                pack_panel(rows, d, panel.data(), {mean.data(), factor.data()}, used);
                for (index_t r = 0; r < used; ++r)
                    for (index_t j = 0; j < d; ++j)
                        CHECK(panel[static_cast<std::size_t>(j * panel_lanes + r)] == (rows[r][j] - 2.0) * 0.5);
            }
    }
    set_simd_level(best);
}

TEST("a scaled Cholesky factor solves, and tells the condition number of its matrix") {
    for (const index_t n : {index_t{1}, index_t{5}, index_t{8}, index_t{33}}) {
        std::vector<double> matrix(static_cast<std::size_t>(n * n)), factor(matrix), scale(static_cast<std::size_t>(n));
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < n; ++j) matrix[i * n + j] = 1e3 / (1.0 + static_cast<double>(std::abs(i - j)));
        for (index_t i = 0; i < n; ++i) matrix[i * n + i] = 1e3;
        const double lift = 2e3, found = scaled_cholesky(matrix.data(), n, lift, factor.data(), scale.data());
        std::vector<double> unit(static_cast<std::size_t>(n * n), 0.0), inverse(unit);
        for (index_t i = 0; i < n; ++i) unit[i * n + i] = 1.0;
        scaled_solve(factor.data(), scale.data(), n, unit.data(), n, inverse.data());
        double norm = 0, of_inverse = 0;
        for (index_t i = 0; i < n; ++i) {
            double sum = 0, inverse_sum = 0;
            for (index_t j = 0; j < n; ++j) {
                double product = 0;
                for (index_t k = 0; k < n; ++k) product += (matrix[i * n + k] + (i == k ? lift : 0.0)) * inverse[k * n + j];
                CHECK_NEAR(product, i == j ? 1.0 : 0.0, 1e-13);
                sum += std::abs(matrix[i * n + j] + (i == j ? lift : 0.0)) * scale[i] * scale[j];
                inverse_sum += std::abs(inverse[i * n + j]) / (scale[i] * scale[j]);
            }
            norm = std::max(norm, sum);
            of_inverse = std::max(of_inverse, inverse_sum);
        }
        CHECK_NEAR(found * norm * of_inverse, 1.0, 1e-12);
    }
    const std::vector<double> indefinite{1, 2, 2, 1};
    std::vector<double> factor(4), scale(2);
    CHECK(scaled_cholesky(indefinite.data(), 2, 0.0, factor.data(), scale.data()) == 0);
    CHECK(scaled_cholesky(indefinite.data(), 2, 3.0, factor.data(), scale.data()) > 0);
    CHECK(scaled_cholesky(indefinite.data(), 2, NAN, factor.data(), scale.data()) == 0);
}

TEST("numbers are finite if none of them is missing or infinite, wherever it stands") {
    std::vector<double> values(3000, 1e308);
    CHECK(all_finite(values.data(), 3000) && all_finite(values.data(), 0));
    for (const index_t place : {0, 1500, 2999}) {
        for (const double wrong : {static_cast<double>(NAN), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
            values[static_cast<std::size_t>(place)] = wrong;
            CHECK(!all_finite(values.data(), 3000));
        }
        values[static_cast<std::size_t>(place)] = 0.0;
    }
}
