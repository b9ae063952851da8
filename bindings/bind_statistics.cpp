// Mergeable sufficient statistics (Gram matrices, class moments) and the scores of naive Bayes.
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/bayes/discriminant.hpp"
#include "assay/bayes/naive_bayes.hpp"
#include "assay/statistics/class_moments.hpp"
#include "assay/statistics/gap_sums.hpp"
#include "assay/statistics/gram.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Weights = std::optional<Array1<const double>>;
using Rows = std::optional<Array1<const std::int64_t>>;
using Indices = Array1<const std::int32_t>;

RowSelection select(const char* kernel, std::size_t table_rows, const Rows& rows, const Weights& weights) {
    require(!weights || weights->shape(0) == table_rows, kernel, "weights must have one value per row of the table");
    RowSelection selection;
    selection.count = static_cast<index_t>(rows ? rows->shape(0) : table_rows);
    selection.weights = weights ? weights->data() : nullptr;
    selection.rows = rows ? rows->data() : nullptr;
    for (index_t i = 0; rows && i < selection.count; ++i)
        require(selection.rows[i] >= 0 && static_cast<std::size_t>(selection.rows[i]) < table_rows, kernel,
                "rows must be indices into the table");
    return selection;
}

Result2<double> gram(Array2<const double> x, Array2<const double> y, Array1<const double> shift, Weights weights,
                     Rows rows, int threads) {
    const char* name = "weighted_gram";
    const std::size_t size = x.shape(1) + y.shape(1) + 1;
    require(y.shape(0) == x.shape(0), name, "x and y must have the same number of rows");
    require(shift.shape(0) + 1 == size, name, "shift must have one value per column");
    const RowSelection selection = select(name, x.shape(0), rows, weights);
    std::vector<double> sums(size * size);
    without_gil([&] { weighted_gram(view(x), view(y), selection, shift.data(), sums.data(), threads); });
    return own(std::move(sums), size, size);
}

Result2<double> grams(Array2<const double> x, Indices codes, int classes, Array2<const double> shift, Weights weights,
                      Rows rows, int threads) {
    const char* name = "class_grams";
    const std::size_t k = static_cast<std::size_t>(std::max(0, classes)), size = x.shape(1) + 1;
    require(codes.shape(0) == x.shape(0), name, "codes must have one value per row");
    require(shift.shape(0) == k && shift.shape(1) == x.shape(1), name, "shift must have a row per class");
    for (std::size_t i = 0; i < codes.shape(0); ++i)
        require(codes.data()[i] >= 0 && codes.data()[i] < classes, name, "codes must be in 0 .. classes - 1");
    const RowSelection selection = select(name, x.shape(0), rows, weights);
    std::vector<double> sums(k * size * size);
    without_gil([&] { class_grams(view(x), codes.data(), classes, selection, shift.data(), sums.data(), threads); });
    return own(std::move(sums), k * size, size);
}

Result1<double> forms(Array2<const double> gram, Array2<const double> combinations, int threads) {
    require(gram.shape(0) == gram.shape(1) && combinations.shape(1) == gram.shape(1), "quadratic_forms",
            "gram must be square, as wide as combinations");
    std::vector<double> out(combinations.shape(0));
    without_gil([&] { quadratic_forms(view(gram), view(combinations), out.data(), threads); });
    return own(std::move(out));
}

nb::dict moments(Array2<const double> x, Indices codes, int classes, Array1<const double> shift, Indices nominal,
                 Indices sizes, Weights weights, Rows rows, int threads) {
    const char* name = "class_moments";
    require(codes.shape(0) == x.shape(0), name, "codes must have one value per row");
    require(shift.shape(0) == x.shape(1), name, "shift must have one value per column");
    require(nominal.shape(0) == sizes.shape(0), name, "nominal and sizes must have the same length");
    for (std::size_t i = 0; i < codes.shape(0); ++i)
        require(codes.data()[i] >= 0 && codes.data()[i] < classes, name, "codes must be in 0 .. classes - 1");
    for (std::size_t k = 0; k < nominal.shape(0); ++k)
        require(nominal.data()[k] >= 0 && static_cast<std::size_t>(nominal.data()[k]) < x.shape(1) &&
                    sizes.data()[k] >= 0,
                name, "nominal must be column indices and sizes not negative");
    const RowSelection selection = select(name, x.shape(0), rows, weights);
    const NominalColumns columns{nominal.data(), sizes.data(), static_cast<index_t>(nominal.shape(0))};
    ClassMoments m = without_gil([&] {
        return class_moments(view(x), codes.data(), classes, selection, shift.data(), columns, threads);
    });
    const auto k = static_cast<std::size_t>(m.classes), p = static_cast<std::size_t>(m.columns);
    nb::dict out;
    out["class_weight"] = own(std::move(m.class_weight));
    out["count"] = own(std::move(m.count), k, p);
    out["sum"] = own(std::move(m.sum), k, p);
    out["square"] = own(std::move(m.square), k, p);
    out["tally"] = own(std::move(m.tally), k, static_cast<std::size_t>(m.categories));
    return out;
}

// The arrays of a fitted naive Bayes model, as the classes hold them.
struct BayesArrays {
    Array1<const double> log_prior;
    Indices gaussian;
    Array2<const double> mean, half_precision, constant;
    Indices proportional;
    Array2<const double> slope;
    Indices tabled, table_sizes;
    Array1<const std::uint8_t> binary;
    Array2<const double> table;

    NaiveBayesModel check(const Array2<const double>& x) const {
        const char* name = "naive_bayes";
        const std::size_t k = log_prior.shape(0);
        const auto is = [k](const Array2<const double>& a, std::size_t cols) {
            return a.shape(0) == k && a.shape(1) == cols;
        };
        std::size_t categories = 0;
        for (std::size_t t = 0; t < table_sizes.shape(0); ++t)
            categories += static_cast<std::size_t>(std::max(0, table_sizes.data()[t]));
        require(is(mean, gaussian.shape(0)) && is(half_precision, gaussian.shape(0)) &&
                    is(constant, gaussian.shape(0)) && is(slope, proportional.shape(0)) && is(table, categories),
                name, "arrays must have one row per class and one column per model column");
        require(tabled.shape(0) == table_sizes.shape(0) && tabled.shape(0) == binary.shape(0), name,
                "tabled, table_sizes and binary must have the same length");
        for (const Indices* list : {&gaussian, &proportional, &tabled})
            for (std::size_t i = 0; i < list->shape(0); ++i)
                require(list->data()[i] >= 0 && static_cast<std::size_t>(list->data()[i]) < x.shape(1), name,
                        "column numbers must be columns of x");
        const auto count = [](const Indices& list) { return static_cast<index_t>(list.shape(0)); };
        return {static_cast<index_t>(k), log_prior.data(),    gaussian.data(),   count(gaussian),
                mean.data(),             half_precision.data(), constant.data(), proportional.data(),
                count(proportional),     slope.data(),        tabled.data(),     table_sizes.data(),
                binary.data(),           count(tabled),       table.data()};
    }
};

Result2<double> scores(Array2<const double> x, const BayesArrays& arrays, int wanted, int threads) {
    const NaiveBayesModel model = arrays.check(x);
    require(wanted >= 0 && wanted <= 2, "naive_bayes_scores", "wanted must be 0, 1 or 2");
    const std::size_t rows = x.shape(0), classes = arrays.log_prior.shape(0);
    std::vector<double> out(rows * classes);
    without_gil([&] { naive_bayes_scores(view(x), model, static_cast<ClassScores>(wanted), out.data(), threads); });
    return own(std::move(out), rows, classes);
}

Result1<std::int32_t> labels(Array2<const double> x, const BayesArrays& arrays, int threads) {
    const NaiveBayesModel model = arrays.check(x);
    std::vector<std::int32_t> out(x.shape(0));
    without_gil([&] { naive_bayes_labels(view(x), model, out.data(), threads); });
    return own(std::move(out));
}

Result2<double> left_out(Array2<const double> y, Array2<const double> w, Array1<const double> eigenvalues,
                         Array1<const double> spheres, double c, Array1<const double> shares, int threads) {
    require(y.shape(0) == w.shape(0) && y.shape(1) == w.shape(1) && spheres.shape(0) == y.shape(0) &&
                eigenvalues.shape(0) == y.shape(1),
            "leave_one_out_scores", "y and w must have one shape, with a sphere per row and an eigenvalue per column");
    std::vector<double> out(y.shape(0) * shares.shape(0));
    without_gil([&] {
        leave_one_out_scores(view(y), view(w), eigenvalues.data(), spheres.data(), c, view(shares), out.data(), threads);
    });
    return own(std::move(out), y.shape(0), shares.shape(0));
}

}  // namespace

void bind_statistics(nb::module_& m) {
    m.def("weighted_gram", &gram, "x"_a.noconvert(), "y"_a.noconvert(), "shift"_a.noconvert(), "weights"_a.none(),
          "rows"_a.none(), "threads"_a, "Sum of w z z^T over the rows, z = [x - shift, y - shift, 1].");
    m.def("class_grams", &grams, "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "shift"_a.noconvert(),
          "weights"_a.none(), "rows"_a.none(), "threads"_a,
          "Sums of w z z^T over the rows of each class, z = [x - shift of the class, 1], one below the other.");
    m.def(
        "gap_sums",
        [](Array2<const double> z, Array2<const std::uint8_t> marks, int threads) {
            require(z.shape(0) == marks.shape(0) && z.shape(1) == marks.shape(1), "gap_sums",
                    "cells and marks must have the same shape");
            const std::size_t p = z.shape(1);
            std::vector<double> sums(p * p), squares(p * p), both(p * p);
            without_gil([&] { gap_sums(view(z), view(marks), sums.data(), squares.data(), both.data(), threads); });
            return nb::make_tuple(own(std::move(sums), p, p), own(std::move(squares), p, p), own(std::move(both), p, p));
        },
        "z"_a.noconvert(), "marks"_a.noconvert(), "threads"_a,
        "Sums and squares of column i over the rows that column j marks, and rows that both mark, all [j, i].");
    m.def("quadratic_forms", &forms, "gram"_a.noconvert(), "combinations"_a.noconvert(), "threads"_a,
          "c' G c for each row c of combinations.");
    m.def("class_moments", &moments, "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "shift"_a.noconvert(),
          "nominal"_a.noconvert(), "sizes"_a.noconvert(), "weights"_a.none(), "rows"_a.none(), "threads"_a,
          "Count, sum and sum of squares per class and column, and tallies of categories.");
    nb::class_<BayesArrays>(m, "NaiveBayesArrays", "The arrays of a fitted naive Bayes model, for its scores.")
        .def(
            "__init__",
            [](BayesArrays* self, Array1<const double> log_prior, Indices gaussian, Array2<const double> mean,
               Array2<const double> half_precision, Array2<const double> constant, Indices proportional,
               Array2<const double> slope, Indices tabled, Indices table_sizes, Array1<const std::uint8_t> binary,
               Array2<const double> table) {
                new (self) BayesArrays{log_prior, gaussian, mean,        half_precision, constant, proportional,
                                       slope,     tabled,   table_sizes, binary,         table};
            },
            "log_prior"_a, "gaussian"_a, "mean"_a, "half_precision"_a, "constant"_a, "proportional"_a, "slope"_a,
            "tabled"_a, "table_sizes"_a, "binary"_a, "table"_a);
    m.def("naive_bayes_scores", &scores, "x"_a.noconvert(), "arrays"_a, "wanted"_a, "threads"_a,
          "Joint log probabilities (0), log probabilities (1) or probabilities (2) of the classes.");
    m.def("leave_one_out_scores", &left_out, "y"_a, "w"_a, "eigenvalues"_a, "spheres"_a, "c"_a, "shares"_a, "threads"_a,
          "Log densities of rows under a class without them, for each share of the identity in its covariance.");
    m.def("naive_bayes_labels", &labels, "x"_a.noconvert(), "arrays"_a, "threads"_a,
          "The most probable class of each row.");
}

}  // namespace assay::bindings
