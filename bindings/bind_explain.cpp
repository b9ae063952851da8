#include <nanobind/stl/optional.h>

#include <optional>

#include "assay/explain/balanced_orders.hpp"
#include "assay/explain/replaced_cells.hpp"
#include "assay/explain/tree_shap.hpp"
#include "bindings.hpp"
#include "forest_view.hpp"

namespace assay::bindings {

void bind_explain(nb::module_& m) {
    m.def(
        "tree_shap",
        [](Array1<const std::int64_t> offsets, Array1<const std::int32_t> feature, Array1<const std::int32_t> left,
           Array1<const std::int32_t> right, Array1<const double> threshold, Array1<const std::int64_t> categories,
           Array1<const std::uint64_t> words, Array1<const std::uint8_t> missing_left, Array2<const double> value,
           Array1<const std::int32_t> n_categories, Array1<const double> cover, Array2<const double> cells,
           std::optional<Array2<const double>> background, std::int64_t outputs, bool interactions, int threads) {
            const auto forest = forest_view(offsets, feature, left, right, threshold, categories, words, missing_left, value,
                                            n_categories, "tree_shap");
            const std::size_t d = n_categories.shape(0), n = cells.shape(0);
            require(cells.shape(1) == d && (!background || background->shape(1) == d), "tree_shap", "cells must have one value per column");
            require(!background || background->shape(0) > 0, "tree_shap", "background must have rows");
            require(cover.shape(0) == feature.shape(0), "tree_shap", "one cover per node");
            require(outputs >= forest.width && outputs % forest.width == 0, "tree_shap", "outputs must be a multiple of the width");
            explain::ShapTask task;
            task.cover = cover.data();
            task.cells = view(cells);
            const Matrix<const double> rows = background ? view(*background) : Matrix<const double>{};
            if (background) task.background = &rows;
            task.outputs = outputs;
            task.interactions = interactions;
            task.threads = threads;
            auto found = without_gil([&] { return explain::tree_shap(forest, task); });
            nb::dict result;
            result["too_long"] = found.too_long;
            result["values"] = own(std::move(found.values), static_cast<std::size_t>(outputs) * d, n);
            if (interactions) result["interactions"] = own(std::move(found.interactions), static_cast<std::size_t>(outputs) * d * d, n);
            result["base"] = own(std::move(found.base));
            return result;
        },
        "offsets"_a, "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "value"_a,
        "n_categories"_a, "cover"_a, "cells"_a.noconvert(), "background"_a.none(), "outputs"_a, "interactions"_a, "threads"_a,
        "Shapley values of sums of trees: (outputs x columns) x rows, of pairs too if asked, and the expected outputs.");
    m.def(
        "replaced_sums",
        [](Array1<const std::int64_t> offsets, Array1<const std::int32_t> feature, Array1<const std::int32_t> left,
           Array1<const std::int32_t> right, Array1<const double> threshold, Array1<const std::int64_t> categories,
           Array1<const std::uint64_t> words, Array1<const std::uint8_t> missing_left, Array2<const double> value,
           Array1<const std::int32_t> n_categories, Array2<const double> cells, Array2<const double> source,
           Array1<const std::int32_t> group, Array2<const std::int32_t> donors, std::int64_t groups, std::int64_t outputs, int threads) {
            const char* kernel = "replaced_sums";
            const auto forest = forest_view(offsets, feature, left, right, threshold, categories, words, missing_left, value,
                                            n_categories, kernel);
            const std::size_t d = n_categories.shape(0), n = cells.shape(0), questions = donors.shape(0);
            require(cells.shape(1) == d && source.shape(1) == d && group.shape(0) == d, kernel, "cells, source and group must have one value per column");
            require(groups > 0 && questions % static_cast<std::size_t>(groups) == 0, kernel, "every group must have as many alternatives");
            require(donors.shape(1) == n || donors.shape(1) == 1, kernel, "one donor per row, or one for all");
            require(outputs >= forest.width && outputs % forest.width == 0, kernel, "outputs must be a multiple of the width");
            for (std::size_t j = 0; j < d; ++j) require(group(j) >= -1 && group(j) < groups, kernel, "no such group");
            const auto rows = static_cast<std::int32_t>(source.shape(0));
            for (std::size_t q = 0; q < questions; ++q)
                for (std::size_t i = 0; i < donors.shape(1); ++i) require(donors(q, i) >= 0 && donors(q, i) < rows, kernel, "no such donor");
            explain::Replacements what;
            what.cells = view(cells);
            what.source = view(source);
            what.group = group.data();
            what.groups = groups;
            what.alternatives = static_cast<index_t>(questions) / groups;
            what.donors = view(donors);
            what.outputs = outputs;
            what.threads = threads;
            std::vector<double> sums(questions * n * static_cast<std::size_t>(outputs));
            without_gil([&] { explain::replaced_sums(forest, what, sums.data()); });
            return own(std::move(sums), questions * n, static_cast<std::size_t>(outputs));
        },
        "offsets"_a, "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "value"_a,
        "n_categories"_a, "cells"_a.noconvert(), "source"_a.noconvert(), "group"_a, "donors"_a, "groups"_a, "outputs"_a, "threads"_a,
        "Sums of trees for rows whose cells of one group of columns come from other rows: (groups K rows) x outputs.");
    m.def(
        "preorder",
        [](Array1<const std::int32_t> left, Array1<const std::int32_t> right) {
            require(left.shape(0) > 0 && left.shape(0) == right.shape(0), "preorder", "one left and one right child per node");
            auto order = without_gil([&] { return explain::preorder(view(left), view(right)); });
            require(!order.empty(), "preorder", "children must be nodes of the tree, each of one parent");
            return own(std::move(order));
        },
        "left"_a, "right"_a, "Nodes of a tree in preorder, from the numbers of their children (negative in leaves).");
    m.def(
        "balanced_orders",
        [](std::int64_t count, std::int64_t players, std::int64_t swaps, std::uint64_t key) {
            const char* kernel = "balanced_orders";
            require(count > 0 && count < 65536, kernel, "count must lie within 1 and 65535");
            require(players >= 3 && players <= explain::most_balanced, kernel, "players must lie within 3 and 64");
            require(swaps >= 0, kernel, "swaps must not be negative");
            auto ranks = without_gil([&] { return explain::balanced_orders(count, players, swaps, key); });
            return own(std::move(ranks), static_cast<std::size_t>(count), static_cast<std::size_t>(players));
        },
        "count"_a, "players"_a, "swaps"_a, "key"_a,
        "Places (count x players) of the players in orders in which each of any three is between the others about equally often.");
}

}  // namespace assay::bindings
