#include "assay/sequences/hmm.hpp"

#include <cmath>
#include <vector>

#include "check.hpp"

using namespace assay;

TEST("two rows of a two-state chain have the likelihood of their four paths") {
    const std::vector<double> start{0.6, 0.4}, transitions{0.7, 0.3, 0.2, 0.8};
    const std::vector<double> logs{std::log(0.5), std::log(0.1), std::log(0.2), std::log(0.9)};
    const std::vector<std::int64_t> offsets{0, 2};
    double exact = 0.0;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j)
            exact += start[i] * std::exp(logs[i]) * transitions[2 * i + j] * std::exp(logs[2 + j]);
    double likelihood = 0.0;
    std::vector<double> filtered(4), smoothed(4), starts(2), moves(4);
    const sequences::Chain chain{2, start.data(), transitions.data()};
    const Vector<const std::int64_t> parts{offsets.data(), 2, 1};
    sequences::hmm_pass(c_matrix<const double>(logs.data(), 2, 2), parts, {}, chain, nullptr, -1,
                        {&likelihood, filtered.data(), smoothed.data(), starts.data(), moves.data()}, 1);
    CHECK_NEAR(likelihood, std::log(exact), 1e-12);
    CHECK_NEAR(moves[0] + moves[1] + moves[2] + moves[3], 1.0, 1e-12);
    CHECK_NEAR(moves[1], 0.6 * 0.5 * 0.3 * 0.9 / exact, 1e-12);
    CHECK_NEAR(starts[0], smoothed[0], 1e-12);
    std::vector<std::int64_t> path(2);
    double best = 0.0;
    sequences::hmm_decode(c_matrix<const double>(logs.data(), 2, 2), parts, chain, path.data(), &best, 1);
    CHECK_NEAR(best, std::log(0.6 * 0.5 * 0.3 * 0.9), 1e-12);
    CHECK(path[0] == 0 && path[1] == 1);
}
