#include "assay/ensembles/adaboost.hpp"
#include "assay/ensembles/boosting.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/trees/packed_sums.hpp"
#include "check.hpp"

using namespace assay;

namespace {

struct Data {
    index_t n, d;
    std::vector<double> cells, y;
    std::vector<std::int32_t> n_categories;
};

Data noise(index_t n, index_t d) {
    Data data{n, d, {}, {}, std::vector<std::int32_t>(static_cast<std::size_t>(d), 0)};
    Random random(3);
    data.n_categories.back() = 6;
    for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j + 1 < d; ++j) data.cells.push_back(random.below(12) == 0 ? std::nan("") : random.normal());
        data.cells.push_back(static_cast<double>(random.below(6)));
        const double* row = data.cells.data() + i * d;
        const double score = (std::isnan(row[0]) ? 1.0 : row[0]) + (row[d - 1] == 2 ? 2.0 : 0.0) + 0.3 * random.normal();
        data.y.push_back(score > 0.5 ? 1.0 : 0.0);
    }
    return data;
}

trees::Bins bins_of(const Data& data, int threads) {
    return trees::make_bins(c_matrix(data.cells.data(), data.n, data.d), {data.n_categories.data(), data.d, 1}, nullptr, 255,
                            threads);
}

ensembles::Booster boosted(const trees::Bins& bins, const Data& data, int threads) {
    ensembles::BoostingOptions options;
    options.loss = ensembles::Loss::logistic;
    options.tree.threads = threads;
    ensembles::Booster booster(bins, data.y, {}, std::vector<double>(static_cast<std::size_t>(data.n), 0.0), data.n, options);
    booster.run(20);
    return booster;
}

}  // namespace

TEST("bins keep order and missing cells have their own code") {
    const Data data = noise(2000, 11);
    const auto bins = bins_of(data, 2);
    for (index_t j = 0; j + 1 < data.d; ++j)
        for (index_t i = 1; i < data.n; ++i) {
            const double a = data.cells[static_cast<std::size_t>((i - 1) * data.d + j)];
            const double b = data.cells[static_cast<std::size_t>(i * data.d + j)];
            if (std::isnan(b)) {
                CHECK(bins.code(i, j) == bins.n_bins[static_cast<std::size_t>(j)]);
            } else if (!std::isnan(a)) {
                CHECK(a <= b ? bins.code(i - 1, j) <= bins.code(i, j) : bins.code(i - 1, j) >= bins.code(i, j));
            }
        }
}

TEST("columns binned apart and joined are those binned together") {
    const Data data = noise(500, 11);
    const auto whole = bins_of(data, 1);
    std::vector<trees::Bins> parts;
    for (index_t first = 0; first < data.d; first += 3) {
        const index_t width = std::min<index_t>(3, data.d - first);
        std::vector<double> cells;
        for (index_t i = 0; i < data.n; ++i)
            for (index_t j = first; j < first + width; ++j) cells.push_back(data.cells[static_cast<std::size_t>(i * data.d + j)]);
        parts.push_back(trees::make_bins(c_matrix<const double>(cells.data(), data.n, width),
                                         {data.n_categories.data() + first, width, 1}, nullptr, 255, 1));
    }
    std::vector<const trees::Bins*> listed;
    for (const auto& part : parts) listed.push_back(&part);
    const auto joined = trees::join_columns(listed);
    CHECK(joined.codes == whole.codes && joined.n_bins == whole.n_bins && joined.cuts == whole.cuts);
    CHECK(joined.n_categories == whole.n_categories && joined.bin_of_category == whole.bin_of_category);
}

TEST("bins of ranked rows are those of the rows alone") {
    const Data data = noise(3000, 11);
    const auto ranks = trees::rank_columns(c_matrix(data.cells.data(), data.n, data.d), {data.n_categories.data(), data.d, 1}, 2);
    std::vector<std::int32_t> rows;
    std::vector<double> cells;
    for (index_t i = data.n - 1; i >= 0; i -= 1 + i % 3) {
        rows.push_back(static_cast<std::int32_t>(i));
        cells.insert(cells.end(), data.cells.begin() + i * data.d, data.cells.begin() + (i + 1) * data.d);
    }
    const auto m = static_cast<index_t>(rows.size());
    const auto alone = trees::make_bins(c_matrix<const double>(cells.data(), m, data.d), {data.n_categories.data(), data.d, 1}, nullptr, 100, 1);
    const trees::ChosenRanks chosen{ranks, {rows.data(), m, 1}, data.n_categories.data()};
    const auto ranked = trees::make_bins(chosen, 100, 2);
    CHECK(ranked.codes == alone.codes && ranked.n_bins == alone.n_bins && ranked.cuts == alone.cuts);
    CHECK(ranked.n_categories == alone.n_categories && ranked.bin_of_category == alone.bin_of_category);
}

TEST("boosting has the same bits for any threads and instruction set and its loss falls") {
    const Data data = noise(6000, 11);
    const auto bins = bins_of(data, 1);
    const auto one = boosted(bins, data, 1);
    CHECK(one.rounds() == 20);
    for (std::size_t r = 1; r < one.train_loss.size(); ++r) CHECK(one.train_loss[r] <= one.train_loss[r - 1]);
    const auto two = boosted(bins, data, 3);
    CHECK(one.forest.value == two.forest.value && one.forest.threshold == two.forest.threshold);
    const Simd before = simd_level();
    set_simd_level(Simd::baseline);
    const auto plain = boosted(bins, data, 1);
    set_simd_level(before);
    CHECK(one.forest.feature == plain.forest.feature && one.forest.threshold == plain.forest.threshold);
}

TEST("a forest sums what its coded trees say") {
    const Data data = noise(3000, 11);
    const auto bins = bins_of(data, 1);
    const auto model = boosted(bins, data, 1);
    const trees::Forest& f = model.forest;
    const trees::ForestView view = trees::view_of(f, data.n_categories.data());
    std::vector<double> sums(static_cast<std::size_t>(data.n), 0.0);
    trees::add_predictions(view, c_matrix(data.cells.data(), data.n, data.d), {0, f.n_trees(), 1},
                           c_matrix(sums.data(), data.n, 1), 2);
    for (index_t i = 0; i < data.n; i += 17) {
        double by_code = 0;
        for (index_t t = 0; t < f.n_trees(); ++t)
            by_code += f.value[static_cast<std::size_t>(f.offsets[static_cast<std::size_t>(t)] +
                                                        trees::CodedTree(f, bins, t).leaf(i))];
        CHECK_NEAR(sums[static_cast<std::size_t>(i)], by_code, 0.0);
        CHECK_NEAR(sums[static_cast<std::size_t>(i)], model.scores[static_cast<std::size_t>(i)], 1e-12);
    }
}

TEST("the votes of AdaBoost do not depend on threads and miss no more than their bound") {
    const Data data = noise(2000, 6);
    const auto bins = bins_of(data, 1);
    std::vector<std::int32_t> labels;
    for (const double y : data.y) labels.push_back(static_cast<std::int32_t>(y));
    ensembles::AdaBoostOptions options;
    options.rounds = 15;
    const auto one = ensembles::grow_adaboost(bins, labels.data(), 2, nullptr, true, options);
    options.threads = 3;
    const auto two = ensembles::grow_adaboost(bins, labels.data(), 2, nullptr, true, options);
    CHECK(one.votes == two.votes && one.forest.value == two.forest.value);
    double bound = 1, missed = 0;
    for (const double e : one.errors) bound *= 2 * std::sqrt(e * (1 - e));
    for (index_t i = 0; i < data.n; ++i) {
        double score = 0;
        for (index_t t = 0; t < one.forest.n_trees(); ++t)
            score += one.forest.value[static_cast<std::size_t>(one.forest.offsets[static_cast<std::size_t>(t)] +
                                                               trees::CodedTree(one.forest, bins, t).leaf(i))];
        missed += (score > 0) != (labels[static_cast<std::size_t>(i)] == 1) ? 1.0 : 0.0;
    }
    CHECK(missed / static_cast<double>(data.n) <= bound);
}

TEST("rough scores lead to the first boundary of the largest exact score") {
    Random random(11);
    for (int trial = 0; trial < 300; ++trial) {
        const index_t count = 1 + static_cast<index_t>(random.below(255));
        // Few different words make ties, and words near each other scores that differ by less than float can tell.
        const std::uint32_t kinds = 1 + random.below(trial % 2 == 0 ? 3 : 100000);
        std::vector<trees::Word> sums(256, 0);
        trees::Word sum = 0;
        for (index_t b = 0; b < count; ++b) {
            const auto g = static_cast<trees::Word>(static_cast<std::int64_t>(random.below(kinds)) - 20000) << 32;
            sums[static_cast<std::size_t>(b)] = sum += random.below(3) == 0 ? 0 : g + 1 + random.below(kinds);
        }
        const auto score = [&](auto left, auto right, auto h, auto hr) { return h > 0 && hr > 0 ? (left * left * hr + right * right * h) / (h * hr) : -1; };
        const auto exact = [&](trees::Word own) {
            return score(trees::gradient_of(own), trees::gradient_of(sum - own), trees::weight_of(own), trees::weight_of(sum - own));
        };
        std::vector<float> rough(256, -1.0F);
        for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b)
            rough[b] = score(static_cast<float>(trees::gradient_of(sums[b])), static_cast<float>(trees::gradient_of(sum - sums[b])),
                             static_cast<float>(trees::weight_of(sums[b])), static_cast<float>(trees::weight_of(sum - sums[b])));
        index_t best = -2, expected = -1;
        double top = -1;
        for (index_t b = 0; b < count; ++b)
            if (exact(sums[static_cast<std::size_t>(b)]) > top) top = exact(sums[static_cast<std::size_t>(b)]), expected = b;
        const auto needing = [&](float needed) { return trees::first_largest_of(rough.data(), sums.data(), count, needed, exact, best); };
        const double found = needing(-1.0F);
        CHECK(best == expected);
        CHECK(expected < 0 || found == top);
        // What is needed leaves out only what is not above it.
        CHECK(expected < 0 || (needing(static_cast<float>(top)) == top && best == expected));
        needing(static_cast<float>(1.0001 * top) + 1.0F);
        CHECK(best == -1);
    }
}

TEST("leaves have the Newton steps of their rows, which rise, for all rows or some, with weights of every kind") {
    const Data data = noise(50000, 3);
    const auto bins = bins_of(data, 1);
    const auto n = static_cast<std::size_t>(data.n);
    Random random(7);
    std::vector<double> g(n), h(n), whole(n), parts(n);
    for (std::size_t i = 0; i < n; ++i) {
        g[i] = data.y[i] - 0.4 + 0.1 * random.normal();
        h[i] = 0.1 + random.uniform();
        whole[i] = static_cast<double>(random.below(4));
        parts[i] = 0.5 + random.uniform();
    }
    for (const double* weights : {static_cast<const double*>(nullptr), static_cast<const double*>(whole.data()), static_cast<const double*>(parts.data())})
        for (const std::int32_t step : {1, 3}) {
            trees::HistogramOptions options;
            options.threads = 2;
            trees::GradientRows gradients;
            gradients.g = g.data();
            gradients.h = h.data();
            gradients.weights = weights;
            gradients.whole = weights != parts.data();
            std::vector<std::int32_t> rows;
            for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); i += step) rows.push_back(i);
            trees::Forest forest;
            trees::HistogramGrower grower(bins, options);
            const auto leaves = grower.grow(rows, gradients, options, forest);
            CHECK(leaves.size() == 31);
            double all_h = 0;
            for (const trees::GrownLeaf& leaf : leaves) {
                double sum_g = 0, sum_h = 0;
                for (index_t i = leaf.begin; i < leaf.end; ++i) {
                    const std::int32_t row = rows[static_cast<std::size_t>(i)];
                    CHECK(i == leaf.begin || rows[static_cast<std::size_t>(i - 1)] < row);
                    const auto at = static_cast<std::size_t>(row);
                    const double w = weights == nullptr ? 1.0 : weights[at];
                    sum_g += w * g[at];
                    sum_h += w * h[at];
                }
                const auto node = static_cast<std::size_t>(leaf.node);
                CHECK(std::abs(forest.value[node] + sum_g / (sum_h + options.l2)) < 1e-12);
                CHECK(std::abs(forest.weight[node] - sum_h) < 1e-3 * sum_h);
                all_h += sum_h;
            }
            CHECK(std::abs(forest.weight[0] - all_h) < 1e-3 * all_h);
        }
}

TEST("an order by contents is that of the sorted keys for any number of rows and threads") {
    for (const index_t n : {500, 40000}) {
        const Data data = noise(n, 2);
        const auto bins = bins_of(data, 1);
        const auto extra = c_matrix<const double>(data.y.data(), data.n, 1);
        const auto order = trees::content_order(bins, extra, 1);
        CHECK(order == trees::content_order(bins, extra, 2));
        std::vector<std::int32_t> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        for (index_t i = 0; i < n; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i);
        // The same rows backwards have the same order of contents.
        Data back = data;
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < 2; ++j)
                back.cells[static_cast<std::size_t>(i * 2 + j)] = data.cells[static_cast<std::size_t>((n - 1 - i) * 2 + j)];
            back.y[static_cast<std::size_t>(i)] = data.y[static_cast<std::size_t>(n - 1 - i)];
        }
        const auto turned = bins_of(back, 1);
        const auto again = trees::content_order(turned, c_matrix<const double>(back.y.data(), n, 1), 2);
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < 2; ++j)
                CHECK(bins.code(order[static_cast<std::size_t>(i)], j) == turned.code(again[static_cast<std::size_t>(i)], j));
    }
}
