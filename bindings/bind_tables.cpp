#include "assay/tables/rank_codes.hpp"
#include "bindings.hpp"

namespace assay::bindings {

void bind_tables(nb::module_& m) {
    m.def(
        "rank_codes",
        [](Array2<const double> cells, Array1<const std::int32_t> n_categories, int threads) {
            require(cells.shape(1) == n_categories.shape(0), "rank_codes", "n_categories must have one value per column");
            auto result = without_gil([&] { return tables::rank_codes(view(cells), view(n_categories), threads); });
            return nb::make_tuple(own(std::move(result.codes), cells.shape(1), cells.shape(0)),
                                  own(std::move(result.offsets)), own(std::move(result.values)));
        },
        "cells"_a.noconvert(), "n_categories"_a, "threads"_a,
        "Codes (column by column), offsets and distinct sorted values of the columns of a table.");
}

}  // namespace assay::bindings
