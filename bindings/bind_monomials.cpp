#include "assay/prepare/monomials.hpp"
#include "bindings.hpp"

namespace assay::bindings {

void bind_monomials(nb::module_& m) {
    m.def(
        "monomials",
        [](Array2<const double> x, Array2<const std::int64_t> runs, bool ones, bool finite, Array2<double> out,
           int threads) {
            const char* const kernel = "monomials";
            require(runs.shape(1) == 3, kernel, "runs must have three columns");
            require(out.shape(0) == x.shape(0), kernel, "out must have the rows of x");
            const prepare::MonomialRuns given{view(runs), ones, finite};
            const auto columns = static_cast<std::int64_t>(x.shape(1)), width = static_cast<std::int64_t>(out.shape(1));
            std::int64_t made = 0;
            for (index_t r = 0; r < given.of.rows; ++r) {
                const std::int64_t* const run = given.of.row(r);
                require(run[0] >= -1 && run[0] < made, kernel, "a parent must come before its run");
                require(run[1] >= 0 && run[1] <= columns && run[2] >= 0 && run[2] <= columns - run[1], kernel,
                        "a run must lie within the columns");
                made += run[2];
            }
            require(made + ones == width, kernel, "out must have a column for each monomial");
            without_gil([&] { prepare::monomials(view(x), given, view(out), threads); });
        },
        "x"_a.noconvert(), "runs"_a.noconvert(), "ones"_a, "finite"_a, "out"_a.noconvert(), "threads"_a,
        "Monomials of each row, by runs of (parent, first column, count), into out.");
}

}  // namespace assay::bindings
