// Linear models: the passes of logistic regression, and what it needs of coded rows.
#include <optional>

#include "assay/linear/coded_remainder.hpp"
#include "assay/linear/logistic.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Rows = Array1<const std::int64_t>;
using Codes = Array1<const std::int32_t>;
using Column = Array1<const double>;
using Table = Array2<const double>;

LogisticProblem checked(LogisticProblem problem) {
    const char* const kernel = "LogisticPasses";
    const index_t classes = problem.classes;
    require(classes >= 2, kernel, "needs at least 2 classes");
    require(problem.codes.size == problem.x.rows, kernel, "codes must have one value per row of x");
    require(problem.weights.empty() || problem.weights.size == problem.x.rows, kernel,
            "weights must be empty or have one value per row of x");
    require(problem.centre.size == problem.x.cols && problem.inverse_scale.size == problem.x.cols, kernel,
            "centre and inverse_scale must have one value per column of x");
    for (index_t i = 0; i < problem.rows.size; ++i)
        require(problem.rows[i] >= 0 && problem.rows[i] < problem.x.rows, kernel, "rows must be row numbers of x");
    for (index_t i = 0; i < problem.row_count(); ++i) {
        const auto code = problem.codes[problem.row(i)];
        require(code >= 0 && code < classes, kernel, "codes must lie in 0..classes-1");
    }
    return problem;
}

// The checked problem, held by Python between the passes of one fit; the arrays live as long as it does.
struct LogisticHandle {
    Table x;
    Rows rows;
    Codes codes;
    Column weights, centre, inverse_scale;
    std::optional<SparsePair> table;
    LogisticProblem problem;

    LogisticHandle(Table x_, Rows rows_, Codes codes_, Column weights_, Column centre_, Column inverse_scale_,
                   bool intercept, int classes)
        : x(std::move(x_)),
          rows(std::move(rows_)),
          codes(std::move(codes_)),
          weights(std::move(weights_)),
          centre(std::move(centre_)),
          inverse_scale(std::move(inverse_scale_)),
          problem(checked({view(x), view(rows), view(codes), view(weights), view(centre), view(inverse_scale), intercept,
                           classes})) {}

    LogisticHandle(const SparseHandle& by_row, const SparseHandle* by_column, Codes codes_, Column weights_,
                   Column centre_, Column inverse_scale_, bool intercept, int classes)
        : codes(std::move(codes_)),
          weights(std::move(weights_)),
          centre(std::move(centre_)),
          inverse_scale(std::move(inverse_scale_)),
          table(std::in_place, "LogisticPasses", by_row, by_column),
          problem(checked({table->shape(), {}, view(codes), view(weights), view(centre), view(inverse_scale), intercept,
                           classes, table->rows.matrix, table->by_column()})) {}

    void check_coefficients(const Table& coefficients) const {
        require(static_cast<index_t>(coefficients.shape(0)) == problem.outputs() &&
                    static_cast<index_t>(coefficients.shape(1)) == problem.columns(),
                "LogisticPasses", "coefficients must be outputs x (columns + intercept)");
    }
    // (loss, rows not classified right, gradient, Hessian or empty, probabilities or empty)
    nb::tuple pass(const Table& coefficients, bool with_hessian, bool with_probabilities, int threads) const {
        check_coefficients(coefficients);
        require(!with_hessian || !table || table->columns, "LogisticPasses", "a Hessian needs the table by column");
        const auto outputs = static_cast<std::size_t>(problem.outputs()), m = static_cast<std::size_t>(problem.columns());
        const std::size_t side = with_hessian ? outputs * m : 0;
        const auto kept = with_probabilities ? static_cast<std::size_t>(problem.row_count()) : 0;
        std::vector<double> gradient(outputs * m), hessian(side * side), probabilities(kept * outputs);
        const LogisticSums sums = without_gil([&] {
            return logistic_pass(problem, view(coefficients),
                                 c_matrix(gradient.data(), problem.outputs(), problem.columns()),
                                 c_matrix(with_hessian ? hessian.data() : nullptr, static_cast<index_t>(side),
                                          static_cast<index_t>(side)),
                                 c_matrix(with_probabilities ? probabilities.data() : nullptr,
                                          static_cast<index_t>(kept), problem.outputs()),
                                 threads);
        });
        return nb::make_tuple(sums.loss, sums.not_right, own(std::move(gradient), outputs, m),
                              own(std::move(hessian), side, side), own(std::move(probabilities), kept, outputs));
    }
    Result2<double> hessian_product(const Table& probabilities, const Table& direction, int threads) const {
        check_coefficients(direction);
        require(static_cast<index_t>(probabilities.shape(0)) == problem.row_count() &&
                    static_cast<index_t>(probabilities.shape(1)) == problem.outputs(),
                "LogisticPasses", "probabilities must be rows x outputs");
        const auto outputs = static_cast<std::size_t>(problem.outputs()), m = static_cast<std::size_t>(problem.columns());
        std::vector<double> product(outputs * m);
        without_gil([&] {
            logistic_hessian_product(problem, view(probabilities), view(direction),
                                     c_matrix(product.data(), problem.outputs(), problem.columns()), threads);
        });
        return own(std::move(product), outputs, m);
    }
};

// (mean, variance, total weight) of the columns of x over `rows` (all when empty).
nb::tuple moments(const Table& x, const Rows& rows, const Column& weights, int threads) {
    LogisticProblem problem;
    problem.x = view(x);
    problem.rows = view(rows);
    problem.weights = view(weights);
    require(problem.weights.empty() || problem.weights.size == problem.x.rows, "column_moments",
            "weights must be empty or have one value per row of x");
    for (index_t i = 0; i < problem.rows.size; ++i)
        require(problem.rows[i] >= 0 && problem.rows[i] < problem.x.rows, "column_moments",
                "rows must be row numbers of x");
    std::vector<double> mean(x.shape(1)), variance(x.shape(1));
    const double total = without_gil([&] {
        return column_moments(problem, Vector<double>{mean.data(), problem.x.cols},
                              Vector<double>{variance.data(), problem.x.cols}, threads);
    });
    return nb::make_tuple(own(std::move(mean)), own(std::move(variance)), total);
}

// Whether all cells of x have a 16-bit code; codes OUT.
bool coded(const Table& x, const Column& centre, const Column& per_unit, std::uint64_t key, std::uint64_t first,
           const Array2<std::int16_t>& codes, int threads) {
    require(centre.shape(0) == x.shape(1) && per_unit.shape(0) == x.shape(1), "code_rows",
            "centre and per_unit must have one value per column of x");
    require(codes.shape(0) == x.shape(0) && codes.shape(1) == x.shape(1), "code_rows", "codes must have the shape of x");
    return without_gil([&] { return code_rows(view(x), view(centre), view(per_unit), key, first, view(codes), threads); });
}

// (value, slack, its square, gradient, spread) of coded rows for a step away from some coefficients.
nb::tuple remainder(const Array2<const std::int16_t>& codes, const Column& unit, const Column& weights, bool intercept,
                    std::uint64_t key, std::uint64_t first, const Column& at, const Column& step, int threads) {
    const CodedRows rows{view(codes), view(unit), view(weights), intercept, key, first};
    const auto m = static_cast<std::size_t>(rows.columns());
    require(rows.unit.size == rows.codes.cols, "coded_remainder", "unit must have one value per column of codes");
    require(rows.weights.empty() || rows.weights.size == rows.codes.rows, "coded_remainder",
            "weights must be empty or have one value per row of codes");
    require(at.shape(0) == m && step.shape(0) == m, "coded_remainder", "at and step must have columns + intercept values");
    std::vector<double> gradient(m), spread(m);
    const RemainderSums sums = without_gil([&] {
        return coded_remainder(rows, view(at), view(step), Vector<double>{gradient.data(), rows.columns()},
                               Vector<double>{spread.data(), rows.columns()}, threads);
    });
    return nb::make_tuple(sums.value, sums.slack, sums.slack_square, own(std::move(gradient)), own(std::move(spread)));
}

}  // namespace

void bind_logistic(nb::module_& m) {
    nb::class_<LogisticHandle>(m, "LogisticPasses", "Logistic regression on fixed rows: sums for any coefficients.")
        .def(nb::init<Table, Rows, Codes, Column, Column, Column, bool, int>(), "x"_a.noconvert(), "rows"_a, "codes"_a,
             "weights"_a, "centre"_a, "inverse_scale"_a, "intercept"_a, "classes"_a)
        .def(nb::init<const SparseHandle&, const SparseHandle*, Codes, Column, Column, Column, bool, int>(), "by_row"_a,
             "by_column"_a.none(), "codes"_a, "weights"_a, "centre"_a, "inverse_scale"_a, "intercept"_a, "classes"_a)
        .def("sums", &LogisticHandle::pass, "coefficients"_a, "hessian"_a, "probabilities"_a, "threads"_a,
             "(loss, rows not right, gradient, Hessian, probabilities) at these coefficients.")
        .def("hessian_product", &LogisticHandle::hessian_product, "probabilities"_a, "direction"_a, "threads"_a,
             "The Hessian where the probabilities were taken, times a direction.");
    m.def("column_moments", &moments, "x"_a.noconvert(), "rows"_a, "weights"_a, "threads"_a,
          "(mean, variance, total weight) of the columns over some rows.");
    m.def("code_rows", &coded, "x"_a.noconvert(), "centre"_a, "per_unit"_a, "key"_a, "first"_a,
          "codes"_a.noconvert(), "threads"_a, "Writes rows as 16-bit codes of standardised cells; whether all cells have one.");
    m.def("coded_remainder", &remainder, "codes"_a.noconvert(), "unit"_a, "weights"_a, "intercept"_a, "key"_a, "first"_a, "at"_a,
          "step"_a, "threads"_a,
          "(value, slack, its square, gradient, spread): what a step adds to the second-order model of the log loss.");
}

void bind_linear(nb::module_& m) { bind_logistic(m); }

}  // namespace assay::bindings
