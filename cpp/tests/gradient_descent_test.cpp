#include "assay/linear/gradient_descent.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/linear/linear_rank.hpp"
#include "assay/linear/perceptron.hpp"
#include "check.hpp"

using namespace assay;

namespace {

struct Rows {
    index_t n, p;
    std::vector<double> x, target, weights;
    std::vector<std::int64_t> all;

    Rows(index_t n_, index_t p_, index_t classes, std::uint64_t seed = 3) : n(n_), p(p_), all(static_cast<std::size_t>(n_)) {
        Random random(seed);
        for (index_t i = 0; i < n * p; ++i) x.push_back(random.normal());
        for (index_t i = 0; i < n; ++i) {
            weights.push_back(0.5 + random.uniform());
            target.push_back(classes == 0 ? 0.3 + 4.0 * random.uniform()
                                          : static_cast<double>(random.below(static_cast<std::uint32_t>(classes))));
        }
        std::iota(all.begin(), all.end(), 0);
    }
    DescentData data(Loss loss, index_t outputs) const {
        DescentData data;
        data.x = c_matrix<const double>(x.data(), n, p);
        data.target = {target.data(), n};
        data.weights = {weights.data(), n};
        data.rows = {all.data(), n};
        data.outputs = outputs;
        data.loss = loss;
        data.parameter = 0.7;
        return data;
    }
};

DescentState state_of(index_t outputs, index_t p, std::uint64_t seed) {
    DescentState state;
    Random random(seed);
    for (index_t j = 0; j < outputs * (p + 1); ++j) state.theta.push_back(seed == 0 ? 0.0 : 0.3 * random.normal());
    state.velocity.assign(state.theta.size(), 0.0);
    return state;
}

}  // namespace

TEST("one full step moves by the finite-difference gradient of the objective, for every loss") {
    const std::vector<std::pair<Loss, index_t>> cases{
        {Loss::squared_error, 0}, {Loss::absolute_error, 0}, {Loss::huber, 0},
        {Loss::mape, 0},          {Loss::msle, 0},           {Loss::log_loss, 2},
        {Loss::log_loss, 4},      {Loss::hinge, 2},          {Loss::hinge, 3},
        {Loss::squared_hinge, 3}, {Loss::modified_huber, 2}, {Loss::squared_margin, 3}};
    for (const auto& [loss, classes] : cases) {
        const index_t outputs = classes > 2 ? classes : 1;
        const Rows rows(157, 11, classes);
        const DescentData data = rows.data(loss, outputs);
        DescentOptions options;
        options.steps.eta0 = 1e-3;
        options.l2 = 0.2;
        const DescentState start = state_of(outputs, rows.p, 7);
        DescentState moved = start;
        descend(data, options, moved);
        for (std::size_t c = 0; c < start.theta.size(); c += 5) {
            double value[2];
            for (int side = 0; side < 2; ++side) {
                DescentState shifted = start;
                shifted.theta[c] += side == 0 ? -1e-6 : 1e-6;
                value[side] = descend(data, options, shifted).objective[0];
            }
            const double slope = (value[1] - value[0]) / 2e-6;
            CHECK_NEAR((start.theta[c] - moved.theta[c]) / options.steps.eta0, slope, 2e-6 * (1.0 + std::abs(slope)));
        }
    }
}

TEST("full batches give the same bits for any number of threads, and small ones for any as well") {
    const Rows rows(6001, 9, 3);
    for (index_t batch : {0, 1, 700}) {
        std::vector<double> first;
        for (int threads : {1, 2, 5}) {
            DescentOptions options;
            options.max_epochs = 4;
            options.batch_size = batch;
            options.threads = threads;
            options.key = 11;
            DescentState state = state_of(3, rows.p, 0);
            descend(rows.data(Loss::log_loss, 3), options, state);
            if (first.empty()) first = state.theta;
            CHECK(first == state.theta);
        }
    }
}

TEST("a fused stochastic epoch equals batches of one row to rounding") {
    const Rows rows(300, 6, 0);
    DescentOptions options{.max_epochs = 3, .batch_size = 1, .steps = {StepRule::invscaling, 0.01},
                           .l1 = 0.02, .l2 = 0.1};
    DescentState fused = state_of(1, rows.p, 0), plain = fused;
    descend(rows.data(Loss::squared_error, 1), options, fused);
    options.momentum = 1e-300;  // takes the general path and moves nothing
    descend(rows.data(Loss::squared_error, 1), options, plain);
    for (std::size_t j = 0; j < fused.theta.size(); ++j) CHECK_NEAR(fused.theta[j], plain.theta[j], 1e-12);
    CHECK(fused.updates == 900 && plain.updates == 900);
}

TEST("two calls of one epoch equal one call of two") {
    const Rows rows(200, 4, 2);
    DescentOptions options;
    options.batch_size = 32;
    options.momentum = 0.5;
    options.key = 5;
    DescentState twice = state_of(1, 4, 0), once = twice;
    descend(rows.data(Loss::log_loss, 1), options, twice);
    descend(rows.data(Loss::log_loss, 1), options, twice);
    options.max_epochs = 2;
    descend(rows.data(Loss::log_loss, 1), options, once);
    CHECK(once.theta == twice.theta);
}

TEST("descent below 2 / L converges and above it diverges, with finite parameters left behind") {
    const Rows rows(400, 5, 0);
    DescentData data = rows.data(Loss::squared_error, 1);
    const double limit = 2.0 / score_curvature(data, 1).mean;
    for (double share : {0.95, 1.1}) {
        DescentOptions options;
        options.max_epochs = 5000;
        options.tol = 1e-8;
        options.steps.eta0 = share * limit;
        DescentState state = state_of(1, rows.p, 0);
        const DescentHistory history = descend(data, options, state);
        CHECK(history.status == (share < 1.0 ? DescentStatus::converged : DescentStatus::diverged));
        for (double value : state.theta) CHECK(std::isfinite(value));
    }
}

TEST("curvature of a scaled diagonal design is known") {
    const std::vector<double> x{3.0, 0.0, 0.0, 1.0};
    const std::vector<std::int64_t> all{0, 1};
    DescentData data;
    data.x = c_matrix<const double>(x.data(), 2, 2);
    data.rows = {all.data(), 2};
    data.intercept = false;
    const Curvature found = score_curvature(data, 1);
    CHECK_NEAR(found.mean, 4.5, 1e-3);
    CHECK_NEAR(found.row, 9.0, 1e-12);
}

TEST("the perceptron makes at most (R / margin)^2 mistakes and then none") {
    const double even[] = {1, 1};
    const Rows rows(500, 3, 0, 21);
    std::vector<double> x;
    std::vector<std::int32_t> codes;
    double radius = 0.0, margin = 1e9;
    const double truth[] = {0.6, -0.64, 0.48};
    for (index_t i = 0; i < rows.n; ++i) {
        const double* const row = rows.x.data() + i * 3;
        const double score = truth[0] * row[0] + truth[1] * row[1] + truth[2] * row[2];
        if (std::abs(score) < 0.1) continue;
        for (int j = 0; j < 3; ++j) x.push_back(row[j]);
        codes.push_back(score > 0.0 ? 1 : 0);
        radius = std::max(radius, std::sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]));
        margin = std::min(margin, std::abs(score));
    }
    const auto n = static_cast<index_t>(codes.size());
    PerceptronState state{std::vector<double>(4), std::vector<double>(4)};
    const auto mistakes =
        perceptron_epochs(c_matrix<const double>(x.data(), n, 3), {codes.data(), n}, even, 1, false, 10000, 0, true, 9, state);
    const auto total = std::accumulate(mistakes.begin(), mistakes.end(), std::int64_t{0});
    CHECK(mistakes.back() == 0);
    CHECK(static_cast<double>(total) <= std::pow(radius / margin, 2));
    CHECK(state.theta[3] == 0.0);
}

TEST("ranking losses, their gradients and pair counts equal those of the written-down pairs") {
    Random random(17);
    const index_t n = 120;
    std::vector<double> scores, weights;
    std::vector<std::int32_t> levels;
    const std::vector<std::int64_t> begin{0, 1, 50, 120};
    for (index_t i = 0; i < n; ++i) {
        scores.push_back(i % 7 == 0 ? 0.5 : 1.5 * random.normal());
        weights.push_back(0.5 + random.uniform());
        levels.push_back(static_cast<std::int32_t>(random.below(5)));
    }
    const RankedRows rows{{scores.data(), n}, {levels.data(), n}, {weights.data(), n}, {begin.data(), 4}};
    for (bool squared : {false, true}) {
        std::vector<double> expected(static_cast<std::size_t>(n)), found(expected.size());
        double loss = 0.0, ordered = 0.0, tied = 0.0, all = 0.0;
        for (std::size_t g = 0; g < 3; ++g)
            for (auto i = static_cast<std::size_t>(begin[g]); i < static_cast<std::size_t>(begin[g + 1]); ++i)
                for (auto j = static_cast<std::size_t>(begin[g]); j < static_cast<std::size_t>(begin[g + 1]); ++j) {
                    if (levels[i] <= levels[j]) continue;
                    const double w = weights[i] * weights[j], gap = 1.0 - scores[i] + scores[j];
                    all += w;
                    ordered += scores[i] > scores[j] ? w : 0.0;
                    tied += scores[i] == scores[j] ? w : 0.0;
                    if (gap <= 0.0) continue;
                    loss += w * (squared ? 0.5 * gap * gap : gap);
                    expected[i] -= w * (squared ? gap : 1.0);
                    expected[j] += w * (squared ? gap : 1.0);
                }
        CHECK_NEAR(rank_loss(rows, squared, {found.data(), n}, 2), loss, 1e-9 * loss);
        for (std::size_t i = 0; i < found.size(); ++i) CHECK_NEAR(found[i], expected[i], 1e-9);
        if (squared) {
            std::vector<double> product(found.size()), moved = scores, after(found.size());
            for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += 1e-9 * weights[i];
            RankedRows there = rows;
            there.scores = {moved.data(), n};
            rank_loss(there, true, {after.data(), n}, 1);
            rank_curvature_product(rows, {weights.data(), n}, {product.data(), n}, 2);
            for (std::size_t i = 0; i < found.size(); ++i) CHECK_NEAR((after[i] - found[i]) / 1e-9, product[i], 1e-3);
        }
        const PairCounts counts = count_pairs(rows, 2);
        CHECK_NEAR(counts.all, all, 1e-9);
        CHECK_NEAR(counts.ordered, ordered, 1e-9);
        CHECK_NEAR(counts.tied, tied, 1e-9);
    }
}
