// Sparse tables: the three products, and the solvers and row losses that stand on them.
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/linear/glm.hpp"
#include "assay/linear/l1_logistic.hpp"
#include "assay/linear/logistic.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Column = Array1<const double>;
using Table = Array2<const double>;

Result2<double> product(const SparseHandle& rows, const Table& v, int threads) {
    require(static_cast<index_t>(v.shape(0)) == rows.matrix.places, "SparseMatrix", "v must have one row per column");
    std::vector<double> out(static_cast<std::size_t>(rows.matrix.lines) * v.shape(1));
    without_gil([&] {
        sparse_product(rows.matrix, view(v), c_matrix(out.data(), rows.matrix.lines, static_cast<index_t>(v.shape(1))),
                       threads);
    });
    return own(std::move(out), static_cast<std::size_t>(rows.matrix.lines), v.shape(1));
}

Result2<double> transposed(const SparseHandle& rows, const Table& v, int threads) {
    require(static_cast<index_t>(v.shape(0)) == rows.matrix.lines, "SparseMatrix", "v must have one row per row");
    std::vector<double> out(static_cast<std::size_t>(rows.matrix.places) * v.shape(1));
    without_gil([&] {
        sparse_transposed_product(rows.matrix, view(v),
                                  c_matrix(out.data(), rows.matrix.places, static_cast<index_t>(v.shape(1))), threads);
    });
    return own(std::move(out), static_cast<std::size_t>(rows.matrix.places), v.shape(1));
}

void check_pair(const char* kernel, const SparseHandle& rows, const SparseHandle& columns) {
    require(rows.matrix.lines == columns.matrix.places && rows.matrix.places == columns.matrix.lines &&
                rows.matrix.cells() == columns.matrix.cells(),
            kernel, "rows and columns must be the same table");
}

Result2<double> gram(const SparseHandle& rows, const SparseHandle& columns, const Column& weights, int threads) {
    const char* const kernel = "sparse_gram";
    check_pair(kernel, rows, columns);
    require(weights.shape(0) == 0 || static_cast<index_t>(weights.shape(0)) == rows.matrix.lines, kernel,
            "weights must be empty or one per row");
    const auto p = static_cast<std::size_t>(rows.matrix.places);
    std::vector<double> out(p * p);
    without_gil([&] {
        sparse_gram(rows.matrix, columns.matrix, view(weights),
                    c_matrix(out.data(), rows.matrix.places, rows.matrix.places), threads);
    });
    return own(std::move(out), p, p);
}

nb::tuple moments(const SparseHandle& columns, const Column& weights, int threads) {
    require(weights.shape(0) == 0 || static_cast<index_t>(weights.shape(0)) == columns.matrix.places,
            "sparse_column_moments", "weights must be empty or one per row");
    const auto p = static_cast<std::size_t>(columns.matrix.lines);
    std::vector<double> mean(p), variance(p);
    const double total = without_gil([&] {
        return sparse_column_moments(columns.matrix, view(weights), {mean.data(), columns.matrix.lines},
                                     {variance.data(), columns.matrix.lines}, threads);
    });
    return nb::make_tuple(own(std::move(mean)), own(std::move(variance)), total);
}

nb::tuple logistic(const Table& eta, const Array1<const std::int32_t>& codes, const Column& weights, int classes,
                   int threads) {
    const char* const kernel = "logistic_rows";
    const std::size_t n = eta.shape(0), outputs = eta.shape(1);
    require(classes >= 2 && outputs == static_cast<std::size_t>(classes == 2 ? 1 : classes), kernel,
            "eta must have one column for two classes, else one per class");
    require(codes.shape(0) == n && (weights.shape(0) == 0 || weights.shape(0) == n), kernel,
            "codes and weights must have one value per row");
    for (std::size_t i = 0; i < n; ++i)
        require(codes(i) >= 0 && codes(i) < classes, kernel, "codes must lie in 0..classes-1");
    std::vector<double> residuals(n * outputs), probabilities(n * outputs), curvatures(outputs == 1 ? n : 0);
    const auto rows = static_cast<index_t>(n), columns = static_cast<index_t>(outputs);
    const LogisticSums sums = without_gil([&] {
        return logistic_rows(view(eta), view(codes), view(weights), classes, c_matrix(residuals.data(), rows, columns),
                             {outputs == 1 ? curvatures.data() : nullptr, static_cast<index_t>(curvatures.size())},
                             c_matrix(probabilities.data(), rows, columns), threads);
    });
    return nb::make_tuple(sums.loss, sums.not_right, own(std::move(residuals), n, outputs), own(std::move(curvatures)),
                          own(std::move(probabilities), n, outputs));
}

// (status, separated, coefficients, steps x (objective, violation, longest move))
nb::tuple l1_solution(const SparseHandle& rows, const SparseHandle& columns, const Array1<const std::int32_t>& codes,
                      const Column& weights, const Column& inverse, const Column& l1, const Column& ridge,
                      bool intercept, const Column& start, double tol, std::int64_t max_iter, int threads) {
    const char* const kernel = "l1_logistic";
    check_pair(kernel, rows, columns);
    const auto n = static_cast<std::size_t>(rows.matrix.lines), p = static_cast<std::size_t>(rows.matrix.places);
    require(codes.shape(0) == n && (weights.shape(0) == 0 || weights.shape(0) == n), kernel,
            "codes and weights must have one value per row");
    require(inverse.shape(0) == p && l1.shape(0) == p && ridge.shape(0) == p && start.shape(0) == p + 1, kernel,
            "inverse, l1 and ridge must have one value per column, start one more");
    for (std::size_t i = 0; i < n; ++i) require(codes(i) == 0 || codes(i) == 1, kernel, "codes must be 0 or 1");
    const L1LogisticProblem problem{rows.matrix, columns.matrix, view(codes), view(weights),
                                    view(inverse), view(l1), view(ridge), intercept};
    std::vector<double> coefficients(start.data(), start.data() + p + 1);
    const L1LogisticResult found = without_gil(
        [&] { return l1_logistic(problem, tol, static_cast<index_t>(max_iter), threads, coefficients.data()); });
    std::vector<double> steps;
    for (const L1LogisticStep& step : found.steps)
        steps.insert(steps.end(), {step.objective, step.violation, step.longest});
    return nb::make_tuple(static_cast<int>(found.status), found.separated, own(std::move(coefficients)),
                          own(std::move(steps), found.steps.size(), 3));
}

nb::tuple glm(const Column& eta, const Column& y, const Column& weights, int family, int link, double parameter,
              int curvature, int threads) {
    const char* const kernel = "glm_rows";
    const std::size_t n = eta.shape(0);
    require(y.shape(0) == n && (weights.shape(0) == 0 || weights.shape(0) == n), kernel,
            "y and weights must have one value per row");
    require(family >= 0 && family < static_cast<int>(GlmFamily::count), kernel, "family must be the number of a family");
    require(link >= 0 && link < static_cast<int>(GlmLink::count), kernel, "link must be the number of a link");
    require(curvature >= 0 && curvature <= 3, kernel, "curvature must be 0, 1, 2 or 3");
    GlmProblem problem;
    problem.y = view(y);
    problem.weights = view(weights);
    problem.family = static_cast<GlmFamily>(family);
    problem.link = static_cast<GlmLink>(link);
    problem.parameter = parameter;
    std::vector<double> gradient(n), curvatures(curvature == 0 ? 0 : n);
    const GlmSums sums = without_gil([&] {
        return glm_rows(problem, view(eta), static_cast<GlmCurvature>(curvature), gradient.data(), curvatures.data(),
                        threads);
    });
    return nb::make_tuple(sums.loss, sums.pearson, sums.worst, sums.replaced, own(std::move(gradient)),
                          own(std::move(curvatures)));
}

}  // namespace

void bind_sparse(nb::module_& m) {
    nb::class_<SparseHandle>(m, "SparseMatrix", "A sparse table by row (or by column), checked once.")
        .def(nb::init<Column, Array1<const std::int32_t>, Array1<const std::int64_t>, std::int64_t>(),
             "values"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "places"_a)
        .def("product", &product, "v"_a, "threads"_a, "X v.")
        .def("transposed_product", &transposed, "v"_a, "threads"_a, "X'v.");
    m.def("sparse_gram", &gram, "rows"_a, "columns"_a, "weights"_a, "threads"_a, "X' diag(weights) X.");
    m.def("sparse_column_moments", &moments, "columns"_a, "weights"_a, "threads"_a,
          "(mean, variance, total weight) of the columns.");
    m.def("logistic_rows", &logistic, "eta"_a, "codes"_a, "weights"_a, "classes"_a, "threads"_a,
          "(loss, rows not right, residuals, curvatures, probabilities) from linear predictors.");
    m.def("l1_logistic", &l1_solution, "rows"_a, "columns"_a, "codes"_a, "weights"_a, "inverse"_a, "l1"_a, "ridge"_a,
          "intercept"_a, "start"_a, "tol"_a, "max_iter"_a, "threads"_a,
          "(status, separated, coefficients, steps) of two-class logistic regression with an absolute penalty.");
    m.def("glm_rows", &glm, "eta"_a, "y"_a, "weights"_a, "family"_a, "link"_a, "parameter"_a, "curvature"_a,
          "threads"_a, "(half deviance, Pearson sum, largest residual, rows without Newton curvature, residuals, curvatures).");
}

}  // namespace assay::bindings
