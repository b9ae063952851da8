#include <nanobind/stl/optional.h>

#include <optional>

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
}

}  // namespace assay::bindings
