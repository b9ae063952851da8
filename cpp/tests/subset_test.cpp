#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/linear/subset.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// Correlated columns with a target in the last place, rows x (p + 1).
std::vector<double> table(index_t rows, index_t p, std::uint64_t seed) {
    Random random(seed);
    std::vector<double> cells;
    for (index_t i = 0; i < rows; ++i) {
        const double common = random.normal();
        double y = random.normal();
        for (index_t j = 0; j < p; ++j) {
            const double x = random.normal() + 0.5 * common;
            y += x * static_cast<double>(j % 3) * 0.4;
            cells.push_back(x);
        }
        cells.push_back(y);
    }
    return cells;
}

// Sums of products over rows begin .. end - 1.
std::vector<double> gram(const std::vector<double>& cells, index_t side, index_t begin, index_t end) {
    std::vector<double> out(static_cast<std::size_t>(side * side), 0.0);
    for (index_t r = begin; r < end; ++r)
        for (index_t i = 0; i < side; ++i)
            for (index_t j = 0; j < side; ++j)
                out[static_cast<std::size_t>(i * side + j)] += cells[static_cast<std::size_t>(r * side + i)] *
                                                               cells[static_cast<std::size_t>(r * side + j)];
    return out;
}

// Error of a subset by Gaussian elimination from nothing: on train itself, or on test with the coefficients of train.
double refit(const std::vector<double>& train, const std::vector<double>* test, index_t side, std::uint64_t members) {
    std::vector<index_t> ids;
    for (index_t j = 0; j + 1 < side; ++j)
        if (members >> j & 1) ids.push_back(j);
    const std::size_t s = ids.size();
    const auto cell = [&](const std::vector<double>& m, index_t i, index_t j) {
        return m[static_cast<std::size_t>(i * side + j)];
    };
    std::vector<double> a(s * (s + 1));
    for (std::size_t i = 0; i < s; ++i) {
        for (std::size_t j = 0; j < s; ++j) a[i * (s + 1) + j] = cell(train, ids[i], ids[j]);
        a[i * (s + 1) + s] = cell(train, ids[i], side - 1);
    }
    for (std::size_t k = 0; k < s; ++k)
        for (std::size_t i = 0; i < s; ++i) {
            if (i == k) continue;
            const double f = a[i * (s + 1) + k] / a[k * (s + 1) + k];
            for (std::size_t j = k; j <= s; ++j) a[i * (s + 1) + j] -= f * a[k * (s + 1) + j];
        }
    std::vector<double> b;
    for (std::size_t k = 0; k < s; ++k) b.push_back(a[k * (s + 1) + s] / a[k * (s + 1) + k]);
    const std::vector<double>& on = test == nullptr ? train : *test;
    double error = cell(on, side - 1, side - 1);
    for (std::size_t i = 0; i < s; ++i) {
        error -= 2 * b[i] * cell(on, ids[i], side - 1);
        for (std::size_t j = 0; j < s; ++j) error += b[i] * b[j] * cell(on, ids[i], ids[j]);
    }
    return error;
}

}  // namespace

TEST("every addition and removal score of a long walk equals a fit from nothing") {
    constexpr index_t p = 9, side = p + 1;
    const auto cells = table(80, p, 3);
    const auto whole = gram(cells, side, 0, 80), train = gram(cells, side, 0, 60), test = gram(cells, side, 60, 80);
    SubsetSweep sweep(p, {{whole.data(), nullptr}, {train.data(), test.data()}}, 1e-10, true, 2);
    Random random(5);
    std::uint64_t members = 0;
    std::vector<double> add(2 * p), out(2 * p), now(2);
    for (int step = 0; step < 200; ++step) {
        sweep.additions(c_matrix(add.data(), 2, p));
        sweep.removals(c_matrix(out.data(), 2, p));
        sweep.errors(now.data());
        CHECK_NEAR(now[0], refit(whole, nullptr, side, members), 1e-9);
        CHECK_NEAR(now[1], refit(train, &test, side, members), 1e-9);
        for (index_t j = 0; j < p; ++j) {
            const bool inside = members >> j & 1;
            const auto& scores = inside ? out : add;
            const auto& others = inside ? add : out;
            const std::uint64_t moved = members ^ (std::uint64_t{1} << j);
            CHECK_NEAR(scores[static_cast<std::size_t>(j)], refit(whole, nullptr, side, moved), 1e-9);
            CHECK_NEAR(scores[static_cast<std::size_t>(p + j)], refit(train, &test, side, moved), 1e-9);
            CHECK(std::isnan(others[static_cast<std::size_t>(j)]));
        }
        const auto j = static_cast<index_t>(random.below(p));
        (members >> j & 1) ? sweep.remove(j) : sweep.add(j);
        members ^= std::uint64_t{1} << j;
    }
}

TEST("a copy of a column stays out until the column it copies is removed") {
    const std::vector<double> matrix = {1, 1, 0.5, 0.7, 1, 1, 0.5, 0.7, 0.5, 0.5, 1, 0.2, 0.7, 0.7, 0.2, 1};
    SubsetSweep sweep(3, {{matrix.data(), nullptr}}, 1e-10, true, 1);
    sweep.add(0);
    std::vector<double> scores(3), error(1);
    sweep.additions(c_matrix(scores.data(), 1, 3));
    CHECK(std::isnan(scores[1]));
    sweep.add(1);
    CHECK(sweep.redundant() == std::vector<std::int64_t>{1});
    sweep.removals(c_matrix(scores.data(), 1, 3));
    CHECK_NEAR(scores[0], 1 - 0.49, 1e-14);
    CHECK_NEAR(scores[1], 1 - 0.49, 1e-14);
    sweep.remove(0);
    sweep.errors(error.data());
    CHECK(sweep.redundant().empty());
    CHECK_NEAR(error[0], 1 - 0.49, 1e-14);
}

TEST("leaps and bounds finds the best subsets of every size, all of them against all") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        constexpr index_t p = 8, side = p + 1, keep = 3;
        const auto cells = table(30, p, seed);
        const auto whole = gram(cells, side, 0, 30);
        for (const index_t fixed : {index_t{0}, index_t{2}}) {
            const BestSubsets found = best_subsets(whole.data(), p, fixed, std::max<index_t>(fixed, 1), p, keep);
            for (index_t size = found.smallest; size <= p; ++size) {
                std::vector<double> errors;
                for (std::uint64_t members = 1; members < (1U << p); ++members)
                    if (__builtin_popcountll(members) == size && (members & 3U) >= (fixed == 2 ? 3U : 0U))
                        errors.push_back(refit(whole, nullptr, side, members));
                std::sort(errors.begin(), errors.end());
                for (index_t r = 0; r < keep; ++r) {
                    const auto entry = static_cast<std::size_t>((size - found.smallest) * keep + r);
                    if (static_cast<std::size_t>(r) >= errors.size()) {
                        CHECK(std::isinf(found.error[entry]));
                        continue;
                    }
                    CHECK_NEAR(found.error[entry], errors[static_cast<std::size_t>(r)], 1e-9);
                    CHECK(__builtin_popcountll(found.members[entry]) == size);
                    CHECK_NEAR(refit(whole, nullptr, side, found.members[entry]), found.error[entry], 1e-9);
                }
            }
            CHECK(found.nodes < (1 << (p - fixed)));
        }
    }
}
