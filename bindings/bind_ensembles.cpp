#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>

#include "assay/ensembles/adaboost.hpp"
#include "assay/ensembles/boosting.hpp"
#include "assay/ensembles/lambda_rank.hpp"
#include "assay/ensembles/random_forest.hpp"
#include "bindings.hpp"
#include "forest_view.hpp"

namespace assay::bindings {
namespace {

using trees::Bins;
using trees::Forest;

// The arrays of a forest, which it gives away. Where weights are counts of rows, both names have one array.
nb::dict to_dict(Forest&& forest) {
    nb::dict result;
    const std::size_t nodes = forest.feature.size(), width = static_cast<std::size_t>(forest.width);
    put(result, "offsets", forest.offsets, "feature", forest.feature, "children_left", forest.left, "children_right", forest.right,
        "threshold", forest.threshold, "category_offset", forest.categories, "category_words", forest.words, "missing_go_to_left",
        forest.missing_left);
    result["value"] = own(std::move(forest.value), nodes, width);
    put(result, "n_node_samples", forest.rows, "gain", forest.gain);
    if (forest.weight.size() == nodes)
        put(result, "weight", forest.weight);
    else
        result["weight"] = result["n_node_samples"];
    return result;
}

std::vector<double> to_vector(const std::optional<Array1<const double>>& values) {
    return values ? std::vector<double>(values->data(), values->data() + values->shape(0)) : std::vector<double>{};
}

// The table must outlive the booster, which keeps it.
struct BoosterHandle {
    nb::object bins;
    std::unique_ptr<ensembles::Booster> booster;
};

}  // namespace

void bind_ensembles(nb::module_& m) {
    nb::class_<Bins>(m, "Bins", "Columns as one-byte codes.")
        .def_prop_ro("n_rows", [](const Bins& bins) { return bins.n; })
        .def_prop_ro("n_bins", [](const Bins& bins) { return own(std::vector(bins.n_bins)); }, nb::rv_policy::automatic)
        .def("codes", [](const Bins& bins) {
            std::vector<std::uint8_t> codes(static_cast<std::size_t>(bins.n * bins.d));
            for (index_t i = 0; i < bins.n; ++i)
                for (index_t j = 0; j < bins.d; ++j) codes[static_cast<std::size_t>(i * bins.d + j)] = bins.code(i, j);
            return own(std::move(codes), static_cast<std::size_t>(bins.n), static_cast<std::size_t>(bins.d));
        }, "The codes, a row after the other.")
        .def("cuts", [](const Bins& bins, std::int64_t column) {
            require(column >= 0 && column < bins.d, "Bins.cuts", "no such column");
            return own(std::vector(bins.cuts[static_cast<std::size_t>(column)]));
        }, "column"_a, "Where the bins of a numeric column end.");
    m.def(
        "make_bins",
        [](Array2<const double> cells, Array1<const std::int32_t> n_categories, std::optional<Array1<const double>> weights,
           std::int64_t max_bins, int threads) {
            require(cells.shape(1) == n_categories.shape(0), "make_bins", "n_categories must have one value per column");
            require(max_bins >= 2 && max_bins <= 255, "make_bins", "max_bins must lie between 2 and 255");
            require(!weights || weights->shape(0) == cells.shape(0), "make_bins", "one weight per row");
            return without_gil([&] {
                return trees::make_bins(view(cells), view(n_categories), weights ? weights->data() : nullptr, max_bins, threads);
            });
        },
        "cells"_a.noconvert(), "n_categories"_a, "weights"_a.none(), "max_bins"_a, "threads"_a, "One-byte codes of the columns.");
    nb::class_<trees::Ranks>(m, "Ranks", "The rank of every cell in its column.");
    m.def(
        "rank_columns",
        [](Array2<const double> cells, Array1<const std::int32_t> n_categories, int threads) {
            require(cells.shape(1) == n_categories.shape(0), "rank_columns", "n_categories must have one value per column");
            require(cells.shape(0) < (std::size_t{1} << 30), "rank_columns", "too many rows");
            return without_gil([&] { return trees::rank_columns(view(cells), view(n_categories), threads); });
        },
        "cells"_a.noconvert(), "n_categories"_a, "threads"_a, "The ranks of cells in their columns, for bins of some rows at a time.");
    m.def(
        "make_bins_of_rows",
        [](const trees::Ranks& ranks, Array1<const std::int32_t> rows, Array1<const std::int32_t> n_categories,
           std::optional<Array1<const std::int32_t>> renamed, std::optional<Array1<const std::int64_t>> renamed_first,
           std::optional<Array1<const double>> weights, std::int64_t max_bins, int threads, std::int64_t counted) {
            const char* kernel = "make_bins_of_rows";
            const auto d = static_cast<std::size_t>(ranks.d);
            require(n_categories.shape(0) == d, kernel, "n_categories must have one value per column");
            require(max_bins >= 2 && max_bins <= 255, kernel, "max_bins must lie between 2 and 255");
            const auto n = static_cast<std::int64_t>(rows.shape(0));
            require(counted >= -1 && counted <= n, kernel, "no more rows can be counted than there are");
            const auto weighed = static_cast<std::size_t>(counted < 0 ? n : counted);
            require(!weights || weights->shape(0) == weighed, kernel, "one weight per row");
            require(renamed.has_value() == renamed_first.has_value(), kernel, "new numbers and where they start");
            for (std::size_t i = 0; i < rows.shape(0); ++i)
                require(rows(i) >= 0 && rows(i) < ranks.n, kernel, "rows must be of the table");
            double total = 0;
            for (std::size_t i = 0; weights && i < weighed; ++i) {
                require((*weights)(i) >= 1 && (*weights)(i) == std::floor((*weights)(i)), kernel, "weights must be whole");
                total += (*weights)(i);
            }
            require(total < 4e9, kernel, "weights must sum to less than 4e9");
            require(!renamed_first || renamed_first->shape(0) >= d + 1, kernel, "where the new numbers of each column start");
            for (std::size_t j = 0; j < d; ++j) {
                const std::int32_t old = ranks.n_categories[j];
                require((old > 0) == (n_categories(j) > 0) || old > 0, kernel, "columns must stay of their kind");
                if (!renamed) {
                    require(n_categories(j) == old, kernel, "as many categories as were ranked");
                    continue;
                }
                const std::int64_t first = (*renamed_first)(j);
                require(first >= 0 && first + old <= static_cast<std::int64_t>(renamed->shape(0)), kernel, "one number per category");
                for (std::int32_t k = 0; k < old; ++k)
                    require((*renamed)(static_cast<std::size_t>(first + k)) < n_categories(j), kernel, "no such category");
            }
            const trees::ChosenRanks chosen{ranks, view(rows), n_categories.data(), renamed ? renamed->data() : nullptr,
                                            renamed_first ? renamed_first->data() : nullptr, weights ? weights->data() : nullptr, counted};
            return without_gil([&] { return trees::make_bins(chosen, max_bins, threads); });
        },
        "ranks"_a, "rows"_a, "n_categories"_a, "renamed"_a.none(), "renamed_first"_a.none(), "weights"_a.none(), "max_bins"_a,
        "threads"_a, "counted"_a = -1,
        "The bins that `make_bins` finds in the first `counted` of these rows (-1: all), whose weights must be whole, for all of them.");
    m.def(
        "join_columns",
        [](const std::vector<const Bins*>& parts) {
            for (const Bins* part : parts)
                require(part != nullptr && part->n == parts.front()->n, "join_columns", "parts must have the same rows");
            return without_gil([&] { return trees::join_columns(parts); });
        },
        "parts"_a, "The binned columns of all parts side by side.");
    m.def(
        "content_order",
        [](const Bins& bins, Array2<const double> extra, int threads) {
            require(static_cast<index_t>(extra.shape(0)) == bins.n, "content_order", "as many rows in both");
            return own(without_gil([&] { return trees::content_order(bins, view(extra), threads); }));
        },
        "bins"_a, "extra"_a.noconvert(), "threads"_a, "Rows in an order that depends on their contents alone.");
    m.def(
        "take_rows",
        [](const Bins& bins, Array1<const std::int32_t> order, int threads) {
            for (std::size_t i = 0; i < order.shape(0); ++i)
                require(order(i) >= 0 && order(i) < bins.n, "take_rows", "rows must be of the table");
            return without_gil([&] { return trees::take_rows(bins, view(order), threads); });
        },
        "bins"_a, "order"_a, "threads"_a, "The rows of binned columns in this order.");
    m.def(
        "forest_sums",
        [](Array1<const std::int64_t> offsets, Array1<const std::int32_t> feature, Array1<const std::int32_t> left,
           Array1<const std::int32_t> right, Array1<const double> threshold, Array1<const std::int64_t> categories,
           Array1<const std::uint64_t> words, Array1<const std::uint8_t> missing_left, Array2<const double> value,
           Array1<const std::int32_t> n_categories, Array2<const double> cells, std::int64_t first, std::int64_t last,
           std::int64_t outputs, int threads) {
            const auto view_of = forest_view(offsets, feature, left, right, threshold, categories, words, missing_left, value,
                                             n_categories, "forest_sums");
            require(cells.shape(1) == n_categories.shape(0), "forest_sums", "cells must have one value per column");
            require(0 <= first && first <= last && last <= view_of.n_trees(), "forest_sums", "no such trees");
            require(outputs >= view_of.width && outputs % view_of.width == 0, "forest_sums", "outputs must be a multiple of the width");
            const std::size_t n = cells.shape(0);
            std::vector<double> sums(n * static_cast<std::size_t>(outputs), 0.0);
            without_gil([&] {
                trees::add_predictions(view_of, view(cells), {first, last, outputs},
                                       c_matrix(sums.data(), static_cast<index_t>(n), outputs), threads);
            });
            return own(std::move(sums), n, static_cast<std::size_t>(outputs));
        },
        "offsets"_a, "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "value"_a,
        "n_categories"_a, "cells"_a.noconvert(), "first"_a, "last"_a, "outputs"_a, "threads"_a,
        "Sums over trees first..last-1 of the values of the leaves that rows reach; tree t adds to output t mod (outputs / width).");
    m.def(
        "forest_leaves",
        [](Array1<const std::int64_t> offsets, Array1<const std::int32_t> feature, Array1<const std::int32_t> left,
           Array1<const std::int32_t> right, Array1<const double> threshold, Array1<const std::int64_t> categories,
           Array1<const std::uint64_t> words, Array1<const std::uint8_t> missing_left, Array2<const double> value,
           Array1<const std::int32_t> n_categories, Array2<const double> cells, int threads) {
            const auto view_of = forest_view(offsets, feature, left, right, threshold, categories, words, missing_left, value,
                                             n_categories, "forest_leaves");
            require(cells.shape(1) == n_categories.shape(0), "forest_leaves", "cells must have one value per column");
            const std::size_t n = cells.shape(0), trees = static_cast<std::size_t>(view_of.n_trees());
            std::vector<std::int32_t> leaves(n * trees);
            without_gil([&] {
                trees::apply_forest(view_of, view(cells), c_matrix(leaves.data(), static_cast<index_t>(n), static_cast<index_t>(trees)), threads);
            });
            return own(std::move(leaves), n, trees);
        },
        "offsets"_a, "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "value"_a,
        "n_categories"_a, "cells"_a.noconvert(), "threads"_a, "For each row and tree, the leaf that the row reaches.");

    m.def(
        "grow_forest",
        [](const Bins& bins, std::optional<Array1<const std::int32_t>> labels, std::optional<Array2<const double>> y,
           std::int64_t width, std::optional<Array1<const double>> weights, bool whole, std::int64_t n_trees,
           std::int64_t first_tree, std::int64_t columns_per_node, std::int64_t max_depth, double min_split, double min_leaf,
           bool bootstrap, bool extra, bool out_of_bag, bool permute, std::uint64_t key, int threads, const Bins* asked,
           std::optional<Array1<const double>> level) {
            const auto n = static_cast<std::size_t>(bins.n);
            require(labels.has_value() != y.has_value(), "grow_forest", "labels or y");
            require(!labels || labels->shape(0) == n, "grow_forest", "one label per row");
            require(!y || (y->shape(0) == n && static_cast<std::int64_t>(y->shape(1)) == width), "grow_forest", "one row of y per row");
            require(!weights || weights->shape(0) == n, "grow_forest", "one weight per row");
            if (labels)
                for (std::size_t i = 0; i < n; ++i)
                    require((*labels)(i) >= 0 && (*labels)(i) < width, "grow_forest", "labels must be classes");
            ensembles::ForestTarget target;
            target.labels = labels ? labels->data() : nullptr;
            target.y = y ? y->data() : nullptr;
            target.width = width;
            target.weights = weights ? weights->data() : nullptr;
            target.whole = whole;
            ensembles::ForestOptions options;
            options.trees = n_trees;
            options.first_tree = first_tree;
            options.columns_per_node = columns_per_node;
            options.max_depth = max_depth;
            options.min_split = min_split;
            options.min_leaf = min_leaf;
            options.bootstrap = bootstrap;
            options.extra = extra;
            options.out_of_bag = out_of_bag;
            options.permute = permute;
            options.key = key;
            options.threads = threads;
            if (asked != nullptr) {
                require(asked->d == bins.d && asked->n_bins == bins.n_bins && asked->cuts == bins.cuts, "grow_forest", "asked rows need these bins");
                require(!out_of_bag && !permute, "grow_forest", "asked rows, or rows out of bag");
            }
            require(!level || static_cast<std::int64_t>(level->shape(0)) == width, "grow_forest", "one level per output");
            const ensembles::AskedRows wanted{asked, level ? level->data() : nullptr};
            auto grown = without_gil([&] { return ensembles::grow_forest(bins, target, options, wanted); });
            nb::dict result = to_dict(std::move(grown.forest));
            const std::size_t rows = grown.oob_trees.size();
            result["oob_sum"] = own(std::move(grown.oob_sum), rows, static_cast<std::size_t>(width));
            if (asked != nullptr)
                result["asked_sum"] = own(std::move(grown.asked_sum), static_cast<std::size_t>(asked->n), static_cast<std::size_t>(width));
            result["oob_trees"] = own(std::move(grown.oob_trees));
            result["oob_loss"] = own(std::move(grown.oob_loss));
            const std::size_t columns = grown.permuted_loss.empty() ? 0 : static_cast<std::size_t>(bins.d);
            result["permuted_loss"] = own(std::move(grown.permuted_loss), columns == 0 ? 0 : static_cast<std::size_t>(n_trees), columns);
            return result;
        },
        "bins"_a, "labels"_a.none(), "y"_a.none(), "width"_a, "weights"_a.none(), "whole"_a, "n_trees"_a,
        "first_tree"_a, "columns_per_node"_a, "max_depth"_a, "min_split"_a, "min_leaf"_a, "bootstrap"_a, "extra"_a,
        "out_of_bag"_a, "permute"_a, "key"_a, "threads"_a, "asked"_a.none() = nb::none(), "level"_a.none() = nb::none(),
        "A random forest or extra trees, and what is known out of bag; or without the forest what it says of asked rows.");
    m.def(
        "bootstrap_counts",
        [](std::int64_t n, std::optional<Array1<const double>> whole_weights, std::uint64_t key, std::int64_t n_trees) {
            require(!whole_weights || static_cast<std::int64_t>(whole_weights->shape(0)) == n, "bootstrap_counts", "one weight per row");
            std::vector<std::int32_t> counts;
            for (std::int64_t t = 0; t < n_trees; ++t) {
                const auto own_counts = ensembles::bootstrap_counts(n, whole_weights ? whole_weights->data() : nullptr, key, t);
                counts.insert(counts.end(), own_counts.begin(), own_counts.end());
            }
            return own(std::move(counts), static_cast<std::size_t>(n_trees), static_cast<std::size_t>(n));
        },
        "n"_a, "whole_weights"_a.none(), "key"_a, "n_trees"_a, "How often each row was drawn for each tree of a forest.");

    m.def(
        "grow_adaboost",
        [](const Bins& bins, Array1<const std::int32_t> labels, std::int64_t classes, std::optional<Array1<const double>> weights,
           bool whole, std::int64_t rounds, std::int64_t max_depth, double learning_rate, bool resample, std::uint64_t key, int threads) {
            const auto n = static_cast<std::size_t>(bins.n);
            require(classes >= 2, "grow_adaboost", "needs two classes");
            require(labels.shape(0) == n && (!weights || weights->shape(0) == n), "grow_adaboost", "one value per row");
            for (std::size_t i = 0; i < n; ++i) require(labels(i) >= 0 && labels(i) < classes, "grow_adaboost", "labels must be classes");
            const ensembles::AdaBoostOptions options{rounds, max_depth, learning_rate, resample, key, threads};
            auto grown = without_gil([&] {
                return ensembles::grow_adaboost(bins, labels.data(), classes, weights ? weights->data() : nullptr, whole, options);
            });
            nb::dict result = to_dict(std::move(grown.forest));
            result["errors"] = own(std::move(grown.errors));
            result["votes"] = own(std::move(grown.votes));
            return result;
        },
        "bins"_a, "labels"_a, "classes"_a, "weights"_a.none(), "whole"_a, "rounds"_a, "max_depth"_a, "learning_rate"_a,
        "resample"_a, "key"_a, "threads"_a, "AdaBoost around trees: the arrays of the trees, with their errors and votes.");

    const auto rank_task = [](const char* kernel, const Array1<const double>& gains, const Array1<const std::int64_t>& begin,
                              std::int64_t truncation, int threads) {
        const std::size_t count = begin.shape(0);
        require(count >= 1 && begin(0) == 0 && begin(count - 1) == static_cast<std::int64_t>(gains.shape(0)) && truncation >= 1, kernel,
                "queries must cover the rows");
        for (std::size_t q = 0; q + 1 < count; ++q) require(begin(q) < begin(q + 1), kernel, "a query must have rows");
        return ensembles::RankTask{gains.data(), view(begin), truncation, threads};
    };
    m.def(
        "largest_gains",
        [rank_task](Array1<const double> gains, Array1<const std::int64_t> begin, std::int64_t truncation, int threads) {
            const ensembles::RankTask task = rank_task("largest_gains", gains, begin, truncation, threads);
            return own(without_gil([&] { return ensembles::largest_gains(task); }));
        },
        "gains"_a, "begin"_a, "truncation"_a, "threads"_a, "The largest discounted gain that each query can have.");
    m.def(
        "lambda_gradients",
        [rank_task](Array1<const double> gains, Array1<const double> largest, Array1<const double> scores, Array1<const std::int64_t> begin,
                    std::int64_t truncation, int threads) {
            const std::size_t n = gains.shape(0), queries = begin.shape(0) - 1;
            const ensembles::RankTask task = rank_task("lambda_gradients", gains, begin, truncation, threads);
            require(scores.shape(0) == n && largest.shape(0) == queries, "lambda_gradients", "one score per row, one largest gain per query");
            std::vector<double> g(n), h(n), ndcg(queries);
            without_gil([&] { ensembles::lambda_gradients(task, largest.data(), scores.data(), g.data(), h.data(), ndcg.data()); });
            return nb::make_tuple(own(std::move(g)), own(std::move(h)), own(std::move(ndcg)));
        },
        "gains"_a, "largest"_a, "scores"_a, "begin"_a, "truncation"_a, "threads"_a,
        "Gradients and Hessians of LambdaRank at the scores of rows sorted by query, and the NDCG of each query.");

    nb::class_<BoosterHandle>(m, "Booster", "Boosted histogram trees while they grow.")
        .def(
            "__init__",
            [](BoosterHandle* self, nb::object table, Array1<const double> y, std::optional<Array1<const double>> weights,
               Array2<const double> scores, std::int64_t n_train, int loss, double parameter, double learning_rate,
               bool first_order, double row_share, std::int64_t columns_per_tree, std::int64_t columns_per_node,
               std::int64_t max_leaves, std::int64_t max_depth, double min_rows, double min_hessian, double l2, double l1,
               double min_gain, double smoothing, double min_category_rows, bool depth_wise, std::vector<std::int8_t> monotone,
               std::vector<std::vector<std::int32_t>> interactions, std::int64_t patience, std::uint64_t key, int threads) {
                const Bins& bins = nb::cast<const Bins&>(table);
                const auto n = static_cast<std::size_t>(bins.n);
                require(y.shape(0) == n && scores.shape(0) == n && (!weights || weights->shape(0) == n), "Booster", "one value per row");
                require(n_train >= 1 && n_train <= bins.n, "Booster", "n_train must lie between 1 and the number of rows");
                require(loss >= 0 && loss <= static_cast<int>(ensembles::Loss::given), "Booster", "unknown loss");
                require(monotone.empty() || monotone.size() == static_cast<std::size_t>(bins.d), "Booster", "one sign per column");
                for (const auto& group : interactions)
                    for (const std::int32_t c : group) require(c >= 0 && c < bins.d, "Booster", "groups must hold columns");
                ensembles::BoostingOptions options;
                options.loss = static_cast<ensembles::Loss>(loss);
                options.outputs = static_cast<index_t>(scores.shape(1));
                if (options.loss == ensembles::Loss::softmax)
                    for (std::size_t i = 0; i < n; ++i)
                        require(y(i) >= 0 && y(i) < static_cast<double>(options.outputs), "Booster", "labels must be classes");
                options.parameter = parameter;
                options.learning_rate = learning_rate;
                options.first_order = first_order;
                options.row_share = row_share;
                options.columns_per_tree = columns_per_tree;
                options.patience = patience;
                options.key = key;
                options.monotone = std::move(monotone);
                options.interactions = std::move(interactions);
                options.tree = {.max_leaves = max_leaves, .max_depth = max_depth, .min_rows = min_rows,
                                .min_hessian = min_hessian, .l2 = l2, .l1 = l1, .min_gain = min_gain,
                                .smoothing = smoothing, .min_category_rows = min_category_rows,
                                .depth_wise = depth_wise, .columns_per_node = columns_per_node, .threads = threads};
                std::vector<double> targets(y.data(), y.data() + n);
                std::vector<double> start(scores.data(), scores.data() + n * scores.shape(1));
                new (self) BoosterHandle{table, std::make_unique<ensembles::Booster>(
                    bins, std::move(targets), to_vector(weights), std::move(start), n_train, options)};
            },
            "bins"_a, "y"_a, "weights"_a.none(), "scores"_a, "n_train"_a, nb::kw_only(), "loss"_a, "parameter"_a, "learning_rate"_a,
            "first_order"_a, "row_share"_a, "columns_per_tree"_a, "columns_per_node"_a, "max_leaves"_a, "max_depth"_a, "min_rows"_a,
            "min_hessian"_a, "l2"_a, "l1"_a, "min_gain"_a, "smoothing"_a, "min_category_rows"_a, "depth_wise"_a, "monotone"_a, "interactions"_a,
            "patience"_a, "key"_a, "threads"_a)
        .def("run", [](BoosterHandle& self, std::int64_t rounds) {
            return without_gil([&] { return self.booster->run(rounds); });
        }, "rounds"_a, "More rounds by the built-in loss; false when the fit has ended.")
        .def("step", [](BoosterHandle& self, Array2<const double> gradients, Array2<const double> hessians) {
            const std::size_t size = self.booster->scores.size();
            require(gradients.size() == size && hessians.size() == size, "Booster.step", "one gradient and Hessian per score");
            without_gil([&] { self.booster->step(gradients.data(), hessians.data()); });
        }, "gradients"_a.noconvert(), "hessians"_a.noconvert(), "One round by gradients and Hessians from outside.")
        .def("truncate", [](BoosterHandle& self, std::int64_t rounds) { self.booster->truncate(rounds); }, "rounds"_a,
             "Drops the rounds from here on.")
        .def("forest", [](const BoosterHandle& self) { return to_dict(Forest(self.booster->forest)); }, "The arrays of the trees.")
        .def_prop_ro("scores", [](const BoosterHandle& self) { return own(std::vector(self.booster->scores)); }, nb::rv_policy::automatic)
        .def_prop_ro("train_loss", [](const BoosterHandle& self) { return own(std::vector(self.booster->train_loss)); }, nb::rv_policy::automatic)
        .def_prop_ro("valid_loss", [](const BoosterHandle& self) { return own(std::vector(self.booster->valid_loss)); }, nb::rv_policy::automatic)
        .def_prop_ro("best_round", [](const BoosterHandle& self) { return self.booster->best_round; })
        .def_prop_ro("rounds", [](const BoosterHandle& self) { return self.booster->rounds(); });
    m.def(
        "run_together",
        [](const std::vector<BoosterHandle*>& handles, std::int64_t rounds, int threads) {
            std::vector<ensembles::Booster*> boosters;
            for (const BoosterHandle* handle : handles) {
                require(handle != nullptr, "run_together", "boosters must not be None");
                boosters.push_back(handle->booster.get());
            }
            without_gil([&] { ensembles::run_together(boosters, rounds, threads); });
        },
        "boosters"_a, "rounds"_a, "threads"_a, "More rounds of each by its built-in loss, side by side.");
}

}  // namespace assay::bindings
