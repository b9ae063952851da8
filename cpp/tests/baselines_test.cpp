#include <cmath>
#include <vector>

#include "assay/baselines/one_r.hpp"
#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

OneRule rule_of(const std::vector<double>& x, const std::vector<std::int32_t>& codes, double min_bucket,
                std::int32_t categories = 0, const std::vector<double>& weights = {}) {
    const auto n = static_cast<index_t>(x.size());
    return one_rules(c_matrix<const double>(x.data(), n, 1), {&categories, 1}, {codes.data(), n},
                     {weights.data(), static_cast<index_t>(weights.size())}, 2, min_bucket, 1)
        .front();
}

}  // namespace

TEST("buckets fill to the minimum, run on while pure, and join when they agree") {
    const OneRule rule = rule_of({1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 1, 1, 0, 0, 0}, 2);
    CHECK(rule.cuts.size() == 2 && rule.cuts[0] == 3.5 && rule.cuts[1] == 5.5);
    CHECK(rule.error == 0.0);
    const OneRule joined = rule_of({1, 2, 3, 4}, {0, 0, 0, 0}, 1);
    CHECK(joined.cuts.empty() && joined.counts[0] == 4.0);
}

TEST("equal values are never parted") {
    const OneRule rule = rule_of({1, 1, 1, 1, 2, 2, 2}, {0, 0, 1, 1, 1, 1, 1}, 1);
    CHECK(rule.cuts.size() == 1 && rule.cuts[0] == 1.5);
    CHECK(rule.counts[0] == 2.0 && rule.counts[1] == 2.0 && rule.prediction[0] == 0 && rule.error == 2.0);
}

TEST("missing cells are the last branch, and an empty branch predicts nothing") {
    const OneRule rule = rule_of({NAN, 1, 2, NAN}, {1, 0, 0, 1}, 1);
    CHECK(rule.prediction.size() == 2 && rule.prediction[1] == 1 && rule.counts[3] == 2.0);
    CHECK(rule_of({0, 0, 2}, {1, 1, 0}, 1, 3).prediction == std::vector<std::int32_t>({1, -1, 0, -1}));
}

TEST("a weight counts as that many rows") {
    Random random(3);
    std::vector<double> x, repeated_x, weights;
    std::vector<std::int32_t> codes, repeated_codes;
    for (int i = 0; i < 300; ++i) {
        x.push_back(std::floor(40 * random.uniform()));
        codes.push_back(static_cast<std::int32_t>(random.below(2)));
        weights.push_back(1.0 + random.below(3));
        for (int r = 0; r < static_cast<int>(weights.back()); ++r) {
            repeated_x.push_back(x.back());
            repeated_codes.push_back(codes.back());
        }
    }
    const OneRule weighted = rule_of(x, codes, 6, 0, weights), repeated = rule_of(repeated_x, repeated_codes, 6);
    CHECK(weighted.cuts == repeated.cuts && weighted.counts == repeated.counts && weighted.error == repeated.error);
    CHECK(!weighted.cuts.empty());
}

TEST("values of every sign and size come in order, and both zeros are one value") {
    const OneRule rule = rule_of({1e300, -1e-300, 0.0, -1e300, 1e-300, -0.0}, {1, 0, 1, 1, 0, 1}, 1);
    const std::vector<double> counts{0, 1, 1, 0, 0, 2, 1, 0, 0, 1, 0, 0};
    CHECK(rule.counts == counts);
    CHECK(rule.cuts.size() == 4 && rule.cuts[0] == -0.5e300 && rule.cuts[1] == -0.5e-300 && rule.cuts[2] == 0.5e-300);
}
