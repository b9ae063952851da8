#include "assay/tables/rank_codes.hpp"
#include "assay/tables/survey.hpp"
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
    m.def(
        "bin_codes",
        [](Array1<const double> values, Array1<const double> edges) {
            require(edges.shape(0) < tables::no_code, "bin_codes", "there may be at most 254 edges");
            std::vector<std::uint8_t> codes(values.shape(0));
            Vector<std::uint8_t> out{codes.data(), static_cast<index_t>(codes.size()), 1};
            without_gil([&] { tables::bin_codes(view(values), view(edges), out); });
            return own(std::move(codes));
        },
        "values"_a.noconvert(), "edges"_a, "How many of the ascending edges are at most each value; 255 for NaN.");
    m.def(
        "cross_counts",
        [](Array1<const std::uint8_t> first, Array1<const std::uint8_t> second, int n_first, int n_second) {
            require(first.shape(0) == second.shape(0), "cross_counts", "both columns must have the same length");
            require(n_first >= 0 && n_second >= 0 && n_first <= 256 && n_second <= 256, "cross_counts",
                    "the numbers of codes must lie in 0 .. 256");
            auto counts = without_gil([&] { return tables::cross_counts(view(first), view(second), n_first, n_second); });
            return own(std::move(counts), static_cast<std::size_t>(n_first), static_cast<std::size_t>(n_second));
        },
        "first"_a.noconvert(), "second"_a.noconvert(), "n_first"_a, "n_second"_a,
        "Rows with each pair of codes; rows with a code beyond the numbers given are left out.");
    m.def(
        "even_widths",
        [](Array1<const std::uint8_t> text, int separator, std::int64_t width) {
            return without_gil(
                [&] { return tables::even_widths(view(text), static_cast<std::uint8_t>(separator), width); });
        },
        "text"_a.noconvert(), "separator"_a, "width"_a,
        "Whether every line of a text without quotes that is not blank holds width - 1 separators.");
}

}  // namespace assay::bindings
