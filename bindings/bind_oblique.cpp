#include "assay/trees/linear_leaves.hpp"
#include "assay/trees/oblique.hpp"
#include "coded_columns.hpp"
#include "tree_arrays.hpp"

namespace assay::bindings {
namespace {

nb::dict oblique_arrays(trees::Tree& tree, std::size_t n_columns, std::size_t n_numeric, bool trace) {
    const std::size_t tests = n_numeric == 0 ? 0 : tree.linear_weight.size() / n_numeric;
    nb::dict result = tree_arrays(tree, n_columns, trace);
    put(result, "linear", tree.linear);
    result["linear_weight"] = own(std::move(tree.linear_weight), tests, n_numeric);
    result["linear_fill"] = own(std::move(tree.linear_fill), tests, n_numeric);
    result["linear_share"] = own(std::move(tree.linear_share), tests, n_numeric);
    if (trace) {
        const std::size_t tried = tree.tried_node.size();
        put(result, "tried_node", tree.tried_node);
        result["tried"] = own(std::move(tree.tried), tried, n_numeric + 2);
    }
    return result;
}

}  // namespace

void bind_oblique(nb::module_& m) {
    m.def(
        "grow_oblique",
        [](Cells cells, Order order, Array1<const std::int32_t> rows, ColumnCounts n_categories, Renamed renamed,
           RenamedFirst renamed_first, Array1<const std::int32_t> labels,
           int n_classes, std::optional<Array1<const double>> weights, std::optional<Array1<const double>> repeats,
           int criterion, index_t max_depth, double min_split, double min_leaf, double min_weight_leaf,
           index_t max_leaf_nodes, double min_decrease, index_t max_features, std::uint64_t key, bool trace,
           Array1<const std::int32_t> columns, int direction, index_t restarts,
           double rows_per_column, int threads) {
            const std::size_t n = rows.shape(0), d = cells.shape(1), p = columns.shape(0);
            require(labels.shape(0) == n && (!weights || weights->shape(0) == n) && (!repeats || repeats->shape(0) == n),
                    "grow_oblique", "one label, weight and repeat per row");
            require(criterion >= 0 && criterion < 3 && direction >= 0 && direction < 3, "grow_oblique",
                    "criterion and direction must be known");
            const auto coded = coded_columns(cells, order, rows, n_categories, renamed, renamed_first, "grow_oblique");
            trees::CartTarget target;
            target.labels = labels.data();
            target.n_classes = n_classes;
            target.weights = weights ? weights->data() : nullptr;
            target.repeats = repeats ? repeats->data() : nullptr;
            const trees::ObliqueOptions oblique{static_cast<index_t>(p), columns.data(),
                                                static_cast<trees::Direction>(direction), restarts, rows_per_column, key};
            const trees::CartOptions options{static_cast<trees::Criterion>(criterion), max_depth, min_split, min_leaf,
                                             min_weight_leaf, max_leaf_nodes, min_decrease, max_features, key, trace,
                                             threads, &oblique};
            auto tree = without_gil([&] { return trees::grow_cart(coded, order.data(), view(rows), target, options); });
            return oblique_arrays(tree, d, p, trace);
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "rows"_a, "n_categories"_a, "renamed"_a.none(),
        "renamed_first"_a.none(), "labels"_a, "n_classes"_a,
        "weights"_a.none(), "repeats"_a.none(), "criterion"_a, "max_depth"_a, "min_split"_a, "min_leaf"_a,
        "min_weight_leaf"_a, "max_leaf_nodes"_a, "min_decrease"_a, "max_features"_a, "key"_a, "trace"_a,
        "columns"_a, "direction"_a, "restarts"_a, "rows_per_column"_a, "threads"_a,
        "Grow a classification tree with linear tests; returns its arrays in preorder.");
    m.def(
        "apply_oblique",
        [](Array1<const std::int32_t> feature, Array1<const std::int32_t> left, Array1<const std::int32_t> right,
           Array1<const double> threshold, Array1<const std::int64_t> categories, Array1<const std::uint64_t> words,
           Array1<const std::uint8_t> missing_left, Array1<const std::int32_t> n_categories,
           Array1<const std::int32_t> linear, Array2<const double> linear_weight, Array2<const double> linear_fill,
           Array1<const std::int32_t> columns, Array2<const double> cells, int threads) {
            require(cells.shape(1) == n_categories.shape(0), "apply_oblique", "one column per n_categories");
            require(linear.shape(0) == feature.shape(0) && linear_weight.shape(1) == columns.shape(0) &&
                        linear_fill.shape(0) == linear_weight.shape(0) && linear_fill.shape(1) == columns.shape(0),
                    "apply_oblique", "one weight and fill per linear test and column");
            std::vector<std::int32_t> leaf(cells.shape(0));
            const trees::TreeView tree{view(feature), view(left), view(right), threshold.data(), categories.data(),
                                       view(words), missing_left.data(), n_categories.data()};
            const trees::LinearTests tests{linear.data(), view(linear_weight), view(linear_fill), view(columns)};
            without_gil([&] {
                trees::apply_oblique(tree, tests, view(cells), {leaf.data(), static_cast<index_t>(leaf.size()), 1},
                                     threads);
            });
            return own(std::move(leaf));
        },
        "feature"_a, "left"_a, "right"_a, "threshold"_a, "categories"_a, "words"_a, "missing_left"_a, "n_categories"_a,
        "linear"_a, "linear_weight"_a, "linear_fill"_a, "columns"_a, "cells"_a.noconvert(), "threads"_a,
        "The leaf that each row reaches in a tree with linear tests.");
    m.def(
        "fit_linear_nodes",
        [](Array1<const std::int32_t> left, Array1<const std::int32_t> right, Array1<const std::int64_t> begin,
           Array1<const std::int64_t> end, Array1<const std::int32_t> tested, Array1<const std::uint8_t> stop,
           Array2<const double> cells, Array1<const std::int32_t> columns, Array1<const std::int32_t> order,
           Array1<const double> y, std::optional<Array1<const double>> weights, bool all_columns, bool drop, bool prune,
           bool keep_all, int threads) {
            const std::size_t n = left.shape(0), q = columns.shape(0), rows = cells.shape(0);
            require(right.shape(0) == n && begin.shape(0) == n && end.shape(0) == n && tested.shape(0) == n &&
                        stop.shape(0) == n,
                    "fit_linear_nodes", "one value per node");
            require(y.shape(0) == rows && order.shape(0) == rows && (!weights || weights->shape(0) == rows) && rows > 0,
                    "fit_linear_nodes", "one target, place and weight per row");
            for (std::size_t i = 0; i < rows; ++i)
                require(order(i) >= 0 && static_cast<std::size_t>(order(i)) < rows, "fit_linear_nodes", "no such row");
            for (std::size_t j = 0; j < q; ++j)
                require(columns(j) >= 0 && static_cast<std::size_t>(columns(j)) < cells.shape(1), "fit_linear_nodes", "no such column");
            const trees::NodeRows tree{view(left),  view(right),   begin.data(),
                                       end.data(),  tested.data(), stop.data()};
            auto made = without_gil([&] {
                return trees::fit_linear_nodes(
                    tree, {view(cells), view(columns), view(order), y.data(), weights ? weights->data() : nullptr},
                    {all_columns, drop, prune, keep_all}, threads);
            });
            const std::size_t kept = made.kept.size();
            nb::dict result;
            result["intercept"] = own(std::move(made.intercept));
            result["residual"] = own(std::move(made.residual));
            result["parameters"] = own(std::move(made.parameters));
            result["coefficient"] = own(std::move(made.coefficient), kept, q);
            result["mean"] = own(std::move(made.mean), kept, q);
            result["deviation"] = own(std::move(made.deviation), kept, q);
            result["leaf"] = own(std::move(made.leaf));
            result["kept"] = own(std::move(made.kept));
            return result;
        },
        "left"_a, "right"_a, "begin"_a, "end"_a, "tested"_a, "stop"_a, "cells"_a.noconvert(), "columns"_a, "order"_a, "y"_a,
        "weights"_a.none(), "all_columns"_a, "drop"_a, "prune"_a, "keep_all"_a, "threads"_a,
        "Linear models in the nodes of a tree whose rows are sorted by leaf, and the leaves that pruning leaves.");
    m.def(
        "linear_leaf_values",
        [](Array1<const std::int32_t> leaf, Array1<const double> intercept, Array2<const double> coefficient,
           Array2<const double> fill, Array1<const std::int32_t> columns, Array2<const double> cells, int threads) {
            require(leaf.shape(0) == cells.shape(0), "linear_leaf_values", "one leaf per row");
            require(coefficient.shape(1) == columns.shape(0) && fill.shape(1) == columns.shape(0) &&
                        coefficient.shape(0) == intercept.shape(0) && fill.shape(0) == intercept.shape(0),
                    "linear_leaf_values", "one coefficient and fill per node and column");
            // A package may hold any numbers; a tree says nothing of how many models of leaves there are.
            for (std::size_t k = 0; k < columns.shape(0); ++k)
                require(columns(k) >= 0 && static_cast<std::size_t>(columns(k)) < cells.shape(1), "linear_leaf_values", "no such column");
            for (std::size_t i = 0; i < leaf.shape(0); ++i)
                require(leaf(i) >= 0 && static_cast<std::size_t>(leaf(i)) < intercept.shape(0), "linear_leaf_values", "no model of this leaf");
            std::vector<double> value(leaf.shape(0));
            without_gil([&] {
                trees::linear_leaf_values(view(leaf), intercept.data(), view(coefficient), view(fill), view(columns),
                                          view(cells), {value.data(), static_cast<index_t>(value.size()), 1}, threads);
            });
            return own(std::move(value));
        },
        "leaf"_a, "intercept"_a, "coefficient"_a, "fill"_a, "columns"_a, "cells"_a.noconvert(), "threads"_a,
        "The value of the linear model of each row's leaf.");
}

}  // namespace assay::bindings
