#include "assay/trees/cart.hpp"

#include <numeric>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/tables/coded_columns.hpp"
#include "assay/trees/linear_splits.hpp"
#include "check.hpp"

using namespace assay;
using trees::CartOptions;
using trees::Criterion;

namespace {

struct Table {
    index_t n, d;
    std::vector<double> cells;
    std::vector<std::int32_t> n_categories, rows, labels;
    std::vector<double> y;
};

Table noise(index_t n, index_t d, bool missing) {
    Table t{n, d, {}, std::vector<std::int32_t>(static_cast<std::size_t>(d), 0), {}, {}, {}};
    Random random(9);
    for (index_t i = 0; i < n * d; ++i)
        t.cells.push_back(missing && random.below(10) == 0 ? std::nan("") : std::round(random.normal() * 50));
    t.n_categories.back() = 5;
    for (index_t i = 0; i < n; ++i) {
        t.cells[static_cast<std::size_t>(i * d + d - 1)] = static_cast<double>(random.below(5));
        const double signal = t.cells[static_cast<std::size_t>(i * d)];
        t.labels.push_back(random.below(4) == 0 ? 2 : signal > 0);
        t.y.push_back((signal == signal ? signal : 0) + random.normal());
    }
    t.rows.resize(static_cast<std::size_t>(n));
    std::iota(t.rows.begin(), t.rows.end(), 0);
    return t;
}

trees::Tree grow(const Table& t, const CartOptions& options) {
    const tables::CodedColumns columns{c_matrix(t.cells.data(), t.n, t.d), t.n_categories.data()};
    std::vector<tables::Entry> order(t.cells.size());
    tables::sort_columns(columns.cells, {t.n_categories.data(), t.d, 1}, order.data(), 1);
    trees::CartTarget target;
    std::vector<double> gradients, hessians;
    if (options.criterion <= Criterion::misclassification) {
        target.labels = t.labels.data();
        target.n_classes = 3;
    } else if (options.criterion == Criterion::second_order) {
        for (const double y : t.y) gradients.push_back(-y), hessians.push_back(1.0 / (1.0 + std::abs(y)));
        target.gradients = gradients.data();
        target.hessians = hessians.data();
    } else {
        target.y = t.y.data();
    }
    return trees::grow_cart(columns, order.data(), {t.rows.data(), t.n, 1}, target, options);
}

std::vector<std::int32_t> leaves_of(const trees::Tree& tree, const Table& t, int threads) {
    const auto size = static_cast<index_t>(tree.feature.size());
    const trees::TreeView view{{tree.feature.data(), size, 1}, {tree.left.data(), size, 1}, {tree.right.data(), size, 1},
                               tree.threshold.data(), tree.categories.data(),
                               {tree.words.data(), static_cast<index_t>(tree.words.size()), 1},
                               tree.missing_left.data(), t.n_categories.data()};
    std::vector<std::int32_t> leaf(static_cast<std::size_t>(t.n));
    trees::apply_tree(view, c_matrix(t.cells.data(), t.n, t.d), {leaf.data(), t.n, 1}, threads);
    return leaf;
}

constexpr Criterion all[] = {Criterion::gini, Criterion::entropy, Criterion::misclassification,
                             Criterion::squared_error, Criterion::absolute_error, Criterion::worst_case,
                             Criterion::second_order};

}  // namespace

TEST("every criterion sends its training rows to leaves of the size it recorded") {
    const Table t = noise(2500, 4, true);
    for (const Criterion criterion : all) {
        CartOptions options;
        options.criterion = criterion;
        options.min_leaf = 3;
        const trees::Tree tree = grow(t, options);
        std::vector<double> reached(tree.feature.size(), 0);
        for (const std::int32_t leaf : leaves_of(tree, t, 2)) ++reached[static_cast<std::size_t>(leaf)];
        for (std::size_t i = 0; i < reached.size(); ++i) {
            if (tree.feature[i] < 0) {
                CHECK(reached[i] == tree.rows[i] && tree.rows[i] >= 3);
            } else {
                CHECK(tree.left[i] == static_cast<std::int32_t>(i) + 1 && tree.right[i] > tree.left[i]);
            }
        }
    }
}

TEST("threads and instruction sets do not change the tree") {
    const Table t = noise(20000, 5, true);
    const Simd best = simd_supported();
    for (const Criterion criterion : {Criterion::gini, Criterion::squared_error, Criterion::second_order}) {
        CartOptions options;
        options.criterion = criterion;
        options.min_leaf = 20;
        options.l2 = 0.5;
        options.max_features = 3;
        options.key = 77;
        const trees::Tree first = grow(t, options);
        CHECK(first.feature.size() > 50);
        for (int level = 0; level <= static_cast<int>(best); ++level) {
            set_simd_level(static_cast<Simd>(level));
            options.threads = 1 + level;
            const trees::Tree again = grow(t, options);
            CHECK(again.feature == first.feature && again.threshold == first.threshold && again.value == first.value);
        }
        set_simd_level(best);
    }
}

TEST("splits by planes send rows where they are counted, whatever the threads and instruction sets") {
    Table t = noise(20000, 30, true);  // more numeric columns than a plane takes, and more rows than the first search
    for (index_t i = 0; i < t.n; ++i) {
        const double *row = t.cells.data() + i * t.d, slope = row[3] == row[3] ? row[3] : 0;
        t.y[static_cast<std::size_t>(i)] += (row[1] > 20 ? slope : -slope) + 100 * (row[t.d - 1] == 2);
    }
    const tables::CodedColumns columns{c_matrix<const double>(t.cells.data(), t.n, t.d), t.n_categories.data()};
    const auto planes = [&](int threads) {
        std::vector<tables::Entry> order(t.cells.size());
        tables::sort_columns(columns.cells, {t.n_categories.data(), t.d, 1}, order.data(), 1);
        trees::CartTarget target;
        target.y = t.y.data();
        return trees::grow_by_planes(columns, order.data(), {t.rows.data(), t.n, 1}, target, {-1, 2, 4, threads});
    };
    const Simd best = simd_supported();
    const trees::Tree first = planes(1);
    CHECK(first.feature.size() > 4);
    std::vector<double> reached(first.feature.size(), 0.0);
    for (const std::int32_t leaf : leaves_of(first, t, 1)) reached[static_cast<std::size_t>(leaf)] += 1;
    for (std::size_t i = 0; i < reached.size(); ++i)
        CHECK(first.feature[i] < 0 ? reached[i] == first.rows[i] : first.left[i] == static_cast<std::int32_t>(i) + 1);
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        const trees::Tree again = planes(1 + level);
        CHECK(again.feature == first.feature && again.threshold == first.threshold && again.value == first.value);
    }
    set_simd_level(best);
}

TEST("rows that repeat equal weights that count them") {
    Table t = noise(300, 3, false);
    Table twice = t;
    twice.n = 600;
    for (const double cell : t.cells) twice.cells.push_back(cell);
    for (const std::int32_t label : t.labels) twice.labels.push_back(label);
    twice.rows.resize(600);
    std::iota(twice.rows.begin(), twice.rows.end(), 0);
    for (const Criterion criterion : {Criterion::gini, Criterion::entropy, Criterion::misclassification}) {
        CartOptions options;
        options.criterion = criterion;
        const trees::Tree a = grow(t, options), b = grow(twice, options);
        CHECK(a.feature == b.feature && a.threshold == b.threshold && a.value == b.value);
    }
}

TEST("pruning cuts the weakest link first") {
    // Root 0 with inner child 1 (leaves 2, 3) and leaf 4.
    const std::vector<std::int32_t> parent{-1, 0, 1, 1, 0};
    const std::vector<double> risk{1.0, 0.5, 0.2, 0.1, 0.1};
    const auto path = trees::weakest_links({parent.data(), 5, 1}, risk.data());
    CHECK(path.alphas.size() == 3);
    CHECK_NEAR(path.alphas[1], 0.2, 1e-15);
    CHECK_NEAR(path.alphas[2], 0.4, 1e-15);
    CHECK_NEAR(path.impurities[0], 0.4, 1e-15);
    CHECK_NEAR(path.impurities[2], 1.0, 1e-15);
    CHECK_NEAR(path.cut_at[1], 0.2, 1e-15);
    CHECK(path.cut_at[0] == path.alphas[2] && path.cut_at[2] == 0 && path.cut_at[4] == 0);
}

TEST("pruning takes nodes of three branches") {
    // Root 0 with leaves 1, 2 and inner child 3 (leaves 4, 5, 6), which goes with its parent.
    const std::vector<std::int32_t> parent{-1, 0, 0, 0, 3, 3, 3};
    const std::vector<double> risk{1.0, 0.3, 0.3, 0.39, 0.01, 0.01, 0.01};
    const auto path = trees::weakest_links({parent.data(), 7, 1}, risk.data());
    CHECK(path.alphas.size() == 2);
    CHECK_NEAR(path.alphas[1], (1.0 - 0.63) / 4, 1e-15);
    CHECK(path.cut_at[3] > 1e300 && path.cut_at[0] == path.alphas[1]);
}

TEST("rows in groups reach the leaves that they reach alone") {
    const Table t = noise(2500, 4, true);
    for (const Criterion criterion : {Criterion::gini, Criterion::squared_error}) {
        CartOptions options;
        options.criterion = criterion;
        const trees::Tree tree = grow(t, options);
        const std::vector<std::int32_t> together = leaves_of(tree, t, 2);
        for (index_t i = 0; i < t.n; ++i) {
            Table one = t;
            one.n = 1;
            one.cells.assign(t.cells.begin() + i * t.d, t.cells.begin() + (i + 1) * t.d);
            CHECK(leaves_of(tree, one, 1)[0] == together[static_cast<std::size_t>(i)]);
        }
    }
}
