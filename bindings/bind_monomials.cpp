#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/prepare/monomials.hpp"
#include "assay/statistics/gram.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Runs = Array2<const std::int64_t>;

// The number of monomials that runs of products of `columns` make.
std::int64_t checked_width(const char* kernel, const Runs& runs, std::size_t columns) {
    require(runs.shape(1) == 3, kernel, "runs must have three columns");
    const auto width = static_cast<std::int64_t>(columns);
    std::int64_t made = 0;
    for (std::size_t r = 0; r < runs.shape(0); ++r) {
        const std::int64_t* const run = runs.data() + 3 * r;
        require(run[0] >= -1 && run[0] < made, kernel, "a parent must come before its run");
        require(run[1] >= 0 && run[1] <= width && run[2] >= 0 && run[2] <= width - run[1], kernel,
                "a run must lie within the columns");
        made += run[2];
    }
    return made;
}

Result2<double> monomial_gram(Array2<const double> x, Array1<const double> centre, Array1<const double> scale, Runs runs,
                              Array2<const double> y, std::optional<Array1<const double>> weights,
                              Array1<const double> shift, int threads) {
    const char* const kernel = "monomial_gram";
    const std::size_t n = x.shape(0), p = x.shape(1), q = y.shape(1);
    const auto width = static_cast<std::size_t>(checked_width(kernel, runs, p)), size = width + q + 1;
    require(centre.shape(0) == p && scale.shape(0) == p, kernel, "centre and scale must have one value per column");
    require(y.shape(0) == n && (!weights || weights->shape(0) == n), kernel, "y and weights must have the rows of x");
    require(shift.shape(0) + 1 == size, kernel, "shift must have one value per monomial and column of y");
    const prepare::MonomialRuns given{view(runs)};
    const auto make = [&](index_t begin, index_t end, double* to) {
        prepare::scaled_monomials(view(x), centre.data(), scale.data(), given, begin, end, to, static_cast<index_t>(width));
    };
    std::vector<double> sums(size * size);
    without_gil([&] {
        made_gram(static_cast<index_t>(width), make, view(y), weights ? weights->data() : nullptr, shift.data(), sums.data(),
                  threads);
    });
    return own(std::move(sums), size, size);
}

}  // namespace

void bind_monomials(nb::module_& m) {
    m.def(
        "monomials",
        [](Array2<const double> x, Runs runs, bool ones, bool finite, Array2<double> out, int threads) {
            const char* const kernel = "monomials";
            require(out.shape(0) == x.shape(0), kernel, "out must have the rows of x");
            const std::int64_t made = checked_width(kernel, runs, x.shape(1));
            require(made + ones == static_cast<std::int64_t>(out.shape(1)), kernel, "out must have a column for each monomial");
            const prepare::MonomialRuns given{view(runs), ones, finite};
            without_gil([&] { prepare::monomials(view(x), given, view(out), threads); });
        },
        "x"_a.noconvert(), "runs"_a.noconvert(), "ones"_a, "finite"_a, "out"_a.noconvert(), "threads"_a,
        "Monomials of each row, by runs of (parent, first column, count), into out.");
    m.def("monomial_gram", &monomial_gram, "x"_a.noconvert(), "centre"_a, "scale"_a, "runs"_a.noconvert(), "y"_a.noconvert(),
          "weights"_a.none(), "shift"_a, "threads"_a,
          "As weighted_gram of the monomials of (x - centre) / scale, which are never held at once.");
}

}  // namespace assay::bindings
