// Mergeable sufficient statistics (Gram matrices, class moments) and the scores of naive Bayes.
#include <algorithm>
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/bayes/discriminant.hpp"
#include "assay/bayes/naive_bayes.hpp"
#include "assay/statistics/class_moments.hpp"
#include "assay/statistics/fold_sums.hpp"
#include "assay/statistics/gap_sums.hpp"
#include "assay/statistics/gram.hpp"
#include "bindings.hpp"
#include "listed_rows.hpp"

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

void check_codes(const char* kernel, const Array2<const double>& x, const Indices& codes, int classes) {
    require(codes.shape(0) == x.shape(0), kernel, "codes must have one value per row");
    for (std::size_t i = 0; i < codes.shape(0); ++i)
        require(codes.data()[i] >= 0 && codes.data()[i] < classes, kernel, "codes must be in 0 .. classes - 1");
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

Result1<double> centre(Array2<const double> x, Array2<const double> y, index_t step) {
    const char* name = "central_values";
    require(y.shape(0) == x.shape(0) && x.shape(0) > 0, name, "x and y must have the same number of rows, and some");
    require(step > 0, name, "step must be positive");
    std::vector<double> shift(x.shape(1) + y.shape(1));
    without_gil([&] { central_values(view(x), view(y), step, shift.data()); });
    return own(std::move(shift));
}

nb::ndarray<nb::numpy, bool, nb::ndim<1>> far(Array2<const double> gram, Array1<const double> shift) {
    require(gram.shape(0) == gram.shape(1) && shift.shape(0) + 1 == gram.shape(0), "far_columns",
            "gram must be square, with a column more than shift has values");
    auto* found = new bool[shift.shape(0)];
    nb::capsule owner(found, [](void* memory) noexcept { delete[] static_cast<bool*>(memory); });
    far_columns(view(gram), shift.data(), found);
    return nb::ndarray<nb::numpy, bool, nb::ndim<1>>(found, {shift.shape(0)}, owner);
}

nb::tuple centred(Array2<const double> gram, std::optional<Array2<const double>> less, Array1<const double> shift,
                  index_t targets, bool centre, bool averaged) {
    const char* name = "centred_moments";
    const std::size_t d = gram.shape(0);
    require(gram.shape(1) == d && shift.shape(0) + 1 == d, name, "gram must be square, with a column more than shift");
    require(!less || (less->shape(0) == d && less->shape(1) == d), name, "less must have the shape of gram");
    require(targets >= 0 && static_cast<std::size_t>(targets) < d, name, "targets must be among the columns");
    auto found = without_gil([&] {
        return centred_moments(view(gram), less ? less->data() : nullptr, shift.data(), targets, centre, averaged);
    });
    const auto q = static_cast<std::size_t>(targets), p = d - 1 - q;
    return nb::make_tuple(found.weight, own(std::move(found.x_mean)), own(std::move(found.y_mean)),
                          own(std::move(found.gram), p, p), own(std::move(found.cross), p, q),
                          own(std::move(found.y_squares)));
}

Result2<double> grams(Array2<const double> x, Indices codes, int classes, Array2<const double> shift, Weights weights,
                      Rows rows, int threads) {
    const char* name = "class_grams";
    const std::size_t k = static_cast<std::size_t>(std::max(0, classes)), size = x.shape(1) + 1;
    require(shift.shape(0) == k && shift.shape(1) == x.shape(1), name, "shift must have a row per class");
    check_codes(name, x, codes, classes);
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
    check_codes(name, x, codes, classes);
    require(shift.shape(0) == x.shape(1), name, "shift must have one value per column");
    require(nominal.shape(0) == sizes.shape(0), name, "nominal and sizes must have the same length");
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

// -- many lists of rows in one call ------------------------------------------------------------------------------------
nb::dict moments_of_lists(Array2<const double> x, Indices codes, int classes, Array1<const double> shift,
                          const ListsOfRows& tests, int threads) {
    const char* name = "fold_moments";
    check_codes(name, x, codes, classes);
    require(shift.shape(0) == x.shape(1), name, "shift must have one value per column");
    const RowLists lists = checked_lists(name, tests, x.shape(0));
    const std::size_t k = static_cast<std::size_t>(std::max(0, classes)), folds = lists.size(), p = x.shape(1);
    std::vector<double> weight(folds * k), count(folds * k * p), sum(count.size()), square(count.size());
    without_gil([&] {
        const auto found = fold_moments(view(x), codes.data(), classes, lists, shift.data(), threads);
        for (std::size_t f = 0; f < folds; ++f) {
            const auto to = [f](std::vector<double>& all, const std::vector<double>& one) {
                std::copy(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(f * one.size()));
            };
            to(weight, found[f].class_weight);
            to(count, found[f].count);
            to(sum, found[f].sum);
            to(square, found[f].square);
        }
    });
    nb::dict out;
    out["class_weight"] = own(std::move(weight), folds, k);
    out["count"] = own(std::move(count), folds * k, p);
    out["sum"] = own(std::move(sum), folds * k, p);
    out["square"] = own(std::move(square), folds * k, p);
    return out;
}

Result2<double> grams_of_lists(Array2<const double> x, Indices codes, int classes, Array2<const double> shift,
                               const ListsOfRows& tests, int threads) {
    const char* name = "fold_grams";
    const std::size_t k = static_cast<std::size_t>(std::max(0, classes)), size = x.shape(1) + 1;
    check_codes(name, x, codes, classes);
    require(shift.shape(0) == k && shift.shape(1) == x.shape(1), name, "shift must have a row per class");
    const RowLists lists = checked_lists(name, tests, x.shape(0));
    std::vector<double> sums(lists.size() * k * size * size);
    without_gil([&] { fold_grams(view(x), codes.data(), classes, lists, shift.data(), sums.data(), threads); });
    return own(std::move(sums), lists.size() * k * size, size);
}

nb::tuple spreads_of_lists(Array2<const double> x, std::size_t columns, const ListsOfRows& trains, int threads) {
    require(columns <= x.shape(1), "fold_spreads", "columns must be columns of x");
    const RowLists lists = checked_lists("fold_spreads", trains, x.shape(0));
    const std::size_t folds = lists.size();
    std::vector<double> mean(folds * columns), left(mean.size()), square(mean.size());
    without_gil([&] {
        fold_spreads(view(x), static_cast<index_t>(columns), lists, mean.data(), left.data(), square.data(), threads);
    });
    return nb::make_tuple(own(std::move(mean), folds, columns), own(std::move(left), folds, columns),
                          own(std::move(square), folds, columns));
}

Result1<double> lines_of_lists(Array2<const double> x, const ListsOfRows& tests, Array2<const double> means,
                               Array2<const double> slopes, int threads) {
    const char* name = "fold_lines";
    const RowLists lists = checked_lists(name, tests, x.shape(0));
    require(slopes.shape(0) == lists.size() && slopes.shape(1) == x.shape(1), name, "slopes must have one row per list");
    require(means.shape(0) == lists.size() && means.shape(1) == x.shape(1) + 1, name,
            "means must have one row per list, with one value more than there are columns");
    std::vector<double> values(listed(lists));
    without_gil([&] { fold_lines(view(x), lists, view(means), view(slopes), values.data(), threads); });
    return own(std::move(values));
}

Result2<double> bayes_scores_of_lists(Array2<const double> x, const ListsOfRows& tests, Indices gaussian,
                                      Array2<const double> log_prior, Array2<const double> mean,
                                      Array2<const double> half_precision, Array2<const double> constant, int threads) {
    const char* name = "naive_bayes_fold_scores";
    const RowLists lists = checked_lists(name, tests, x.shape(0));
    const std::size_t classes = log_prior.shape(1);
    require(log_prior.shape(0) == lists.size(), name, "log_prior must have one row per list");
    for (const Array2<const double>* part : {&mean, &half_precision, &constant})
        require(part->shape(0) == lists.size() * classes && part->shape(1) == gaussian.shape(0), name,
                "arrays must have one row per list and class and one column per model column");
    for (std::size_t i = 0; i < gaussian.shape(0); ++i)
        require(gaussian(i) >= 0 && static_cast<std::size_t>(gaussian(i)) < x.shape(1), name,
                "column numbers must be columns of x");
    NaiveBayesModel models;
    models.classes = static_cast<index_t>(classes);
    models.log_prior = log_prior.data();
    models.gaussian = gaussian.data();
    models.n_gaussian = static_cast<index_t>(gaussian.shape(0));
    models.mean = mean.data();
    models.half_precision = half_precision.data();
    models.constant = constant.data();
    std::vector<double> out(listed(lists) * classes);
    without_gil([&] { naive_bayes_fold_scores(view(x), lists, models, out.data(), threads); });
    return own(std::move(out), listed(lists), classes);
}

Result2<double> discriminant_scores_of_lists(Array2<const double> x, const ListsOfRows& tests,
                                             Array2<const double> levels, Array2<const double> centres,
                                             Array2<const double> forms, bool quadratic,
                                             std::optional<Array2<const double>> origin,
                                             std::optional<Array2<const double>> factor, int threads) {
    const char* name = "discriminant_fold_scores";
    const RowLists lists = checked_lists(name, tests, x.shape(0));
    const std::size_t folds = lists.size(), classes = levels.shape(1), d = x.shape(1);
    const auto is = [](const Array2<const double>& a, std::size_t rows, std::size_t columns) {
        return a.shape(0) == rows && a.shape(1) == columns;
    };
    require(classes > 0 && levels.shape(0) == folds, name, "levels must have one row per list");
    require(is(centres, quadratic ? folds * classes : folds, d) &&
                is(forms, quadratic ? folds * classes * d : folds * classes, d),
            name, "centres and forms must be those of one covariance, or of each class");
    require(origin.has_value() == factor.has_value() &&
                (!origin || (is(*origin, folds, d) && is(*factor, folds, d))),
            name, "origin and factor must have one row per list");
    const DiscriminantFolds models{static_cast<index_t>(classes),        quadratic,     origin ? origin->data() : nullptr,
                                   factor ? factor->data() : nullptr,    levels.data(), centres.data(),
                                   forms.data()};
    std::vector<double> out(listed(lists) * classes);
    without_gil([&] { discriminant_fold_scores(view(x), lists, models, out.data(), threads); });
    return own(std::move(out), listed(lists), classes);
}

}  // namespace

void bind_statistics(nb::module_& m) {
    m.def("weighted_gram", &gram, "x"_a.noconvert(), "y"_a.noconvert(), "shift"_a.noconvert(), "weights"_a.none(),
          "rows"_a.none(), "threads"_a, "Sum of w z z^T over the rows, z = [x - shift, y - shift, 1].");
    m.def("central_values", &centre, "x"_a.noconvert(), "y"_a.noconvert(), "step"_a,
          "Of each column of x and y the mean over every step-th row, of one that is constant there its value.");
    m.def("far_columns", &far, "gram"_a, "shift"_a,
          "Which columns have a mean more than a hundred deviations from the shift of these sums.");
    m.def("centred_moments", &centred, "gram"_a, "less"_a.none(), "shift"_a, "targets"_a, "centre"_a, "averaged"_a,
          "(weight, mean of x, mean of y, gram, cross, squares of y) around the mean, or around zero without `centre`.");
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
    m.def("fold_moments", &moments_of_lists, "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a,
          "shift"_a.noconvert(), "tests"_a, "threads"_a,
          "class_moments of each list of rows (numeric columns, no weights), one below the other.");
    m.def("fold_grams", &grams_of_lists, "x"_a.noconvert(), "codes"_a.noconvert(), "classes"_a, "shift"_a.noconvert(),
          "tests"_a, "threads"_a, "class_grams of each list of rows, one below the other.");
    m.def("fold_lines", &lines_of_lists, "x"_a.noconvert(), "tests"_a, "means"_a.noconvert(), "slopes"_a.noconvert(),
          "threads"_a, "Values of the rows of each list by a linear function of its own, one list below the other.");
    m.def("fold_spreads", &spreads_of_lists, "x"_a.noconvert(), "columns"_a, "trains"_a, "threads"_a,
          "Mean, rounding left in it and mean square about it, of the first columns over the rows of each list.");
    m.def(
        "column_spread",
        [](Array2<const double> columns, int threads) {
            std::vector<double> mean(columns.shape(0)), left(mean.size()), square(mean.size());
            without_gil([&] { column_spread(view(columns), mean.data(), left.data(), square.data(), threads); });
            return nb::make_tuple(own(std::move(mean)), own(std::move(left)), own(std::move(square)));
        },
        "columns"_a.noconvert(), "threads"_a, "The same of all rows of a table that lies by columns.");
    m.def(
        "rows_by_fold",
        [](const Array1<const std::int32_t>& fold_of_row, std::size_t folds) {
            const std::size_t n = fold_of_row.shape(0);
            std::vector<std::int64_t> rows(n), ends(folds);
            rows_by_fold(fold_of_row.data(), static_cast<index_t>(n), static_cast<index_t>(folds), rows.data(), ends.data());
            return nb::make_tuple(own(std::move(rows)), own(std::move(ends)));
        },
        "fold_of_row"_a.noconvert(), "folds"_a,
        "The rows of fold 0, 1 and so on, ascending within a fold, and where those of each fold end.");
    m.def(
        "deal_rows",
        [](const Array1<const std::int64_t>& shuffled, const Array1<const std::int64_t>& codes,
           const Array1<const std::int32_t>& turn) {
            const auto n = static_cast<index_t>(codes.shape(0)), folds = static_cast<index_t>(turn.shape(0));
            require(shuffled.shape(0) == codes.shape(0) && folds > 0, "deal_rows", "one place for every row, and a fold");
            require(are_between(shuffled.data(), n, 0, n), "deal_rows", "shuffled must be rows");
            const std::int64_t classes = n == 0 ? 0 : *std::max_element(codes.data(), codes.data() + n) + 1;
            require(are_between(codes.data(), n, 0, classes), "deal_rows", "codes must not be negative");
            std::vector<std::int32_t> fold_of_row(static_cast<std::size_t>(n));
            deal_rows(shuffled.data(), codes.data(), n, classes, turn.data(), folds, fold_of_row.data());
            return own(std::move(fold_of_row));
        },
        "shuffled"_a.noconvert(), "codes"_a.noconvert(), "turn"_a.noconvert(),
        "A fold for every row: rows in the order of their classes, shuffled within, go to the folds in turn.");
    m.def(
        "complementary",
        [](const ListsOfRows& trains, const ListsOfRows& tests, std::size_t n, int threads) {
            require(trains.size() == tests.size(), "complementary", "trains and tests must be as many");
            const RowLists one = checked_lists("complementary", trains, n), two = checked_lists("complementary", tests, n);
            std::vector<std::uint8_t> split(two.size());
            without_gil([&] { complementary(one, two, static_cast<index_t>(n), split.data(), threads); });
            return own(std::move(split));
        },
        "trains"_a, "tests"_a, "n"_a, "threads"_a, "1 for each pair of lists that holds every row once between them, 2 where both ascend.");
    m.def("naive_bayes_fold_scores", &bayes_scores_of_lists, "x"_a.noconvert(), "tests"_a, "gaussian"_a, "log_prior"_a,
          "mean"_a, "half_precision"_a, "constant"_a, "threads"_a,
          "Class probabilities of the rows of each list by a normal model of its own, one list below the other.");
    m.def("discriminant_fold_scores", &discriminant_scores_of_lists, "x"_a.noconvert(), "tests"_a, "levels"_a,
          "centres"_a, "forms"_a, "quadratic"_a, "origin"_a.none(), "factor"_a.none(), "threads"_a,
          "Class probabilities of the rows of each list by a Gaussian discriminant of its own.");
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
