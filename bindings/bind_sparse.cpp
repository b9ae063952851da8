// Sparse tables: the three products, and the solver that stands on them.
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/linear/l1_logistic.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Column = Array1<const double>;
using Vectors = AlignedArray<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>;

// X v or X'v, for a vector or for each column of v.
template <bool Transposed>
nb::ndarray<nb::numpy, double> product(const SparseHandle& rows, const Vectors& v, int threads) {
    const SparseMatrix& matrix = rows.matrix;
    require(v.ndim() == 1 || v.ndim() == 2, "SparseMatrix", "v must be a vector or a matrix");
    const auto size = static_cast<index_t>(v.shape(0));
    const index_t found = Transposed ? matrix.places : matrix.lines;
    require(size == (Transposed ? matrix.lines : matrix.places), "SparseMatrix",
            Transposed ? "v must have one row per row" : "v must have one row per column");
    const std::size_t columns = v.ndim() == 1 ? 1 : v.shape(1);
    std::vector<double> out(static_cast<std::size_t>(found) * columns);
    without_gil([&] {
        const auto count = static_cast<index_t>(columns);
        const auto multiply = Transposed ? sparse_transposed_product : sparse_product;
        multiply(matrix, c_matrix(v.data(), size, count), c_matrix(out.data(), found, count), threads);
    });
    if (v.ndim() == 1) return nb::ndarray<nb::numpy, double>(own(std::move(out)));
    return nb::ndarray<nb::numpy, double>(own(std::move(out), static_cast<std::size_t>(found), columns));
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

template <class Work>
nb::tuple moments_of(const char* kernel, const Column& weights, index_t rows, index_t p, Work&& work) {
    require(weights.shape(0) == 0 || static_cast<index_t>(weights.shape(0)) == rows, kernel,
            "weights must be empty or one per row");
    std::vector<double> mean(static_cast<std::size_t>(p)), variance(static_cast<std::size_t>(p));
    const double total = without_gil([&] { return work(mean.data(), variance.data()); });
    return nb::make_tuple(own(std::move(mean)), own(std::move(variance)), total);
}

nb::tuple moments(const SparseHandle& columns, const Column& weights, int threads) {
    const index_t p = columns.matrix.lines;
    return moments_of("sparse_column_moments", weights, columns.matrix.places, p, [&](double* mean, double* variance) {
        return sparse_column_moments(columns.matrix, view(weights), {mean, p}, {variance, p}, threads);
    });
}

nb::tuple moments_by_row(const SparseHandle& rows, const Column& weights) {
    const index_t p = rows.matrix.places;
    return moments_of("sparse_row_moments", weights, rows.matrix.lines, p, [&](double* mean, double* variance) {
        return sparse_row_moments(rows.matrix, view(weights), {mean, p}, {variance, p});
    });
}

// (status, separated, coefficients, steps x (objective, violation, longest move))
nb::tuple l1_solution(const SparseHandle& rows, const Array1<const std::int32_t>& codes,
                      const Column& weights, const Column& inverse, const Column& l1, const Column& ridge,
                      bool intercept, const Column& start, double tol, std::int64_t max_iter, int threads) {
    const char* const kernel = "l1_logistic";
    const auto n = static_cast<std::size_t>(rows.matrix.lines), p = static_cast<std::size_t>(rows.matrix.places);
    require(codes.shape(0) == n && (weights.shape(0) == 0 || weights.shape(0) == n), kernel,
            "codes and weights must have one value per row");
    require(inverse.shape(0) == p && l1.shape(0) == p && ridge.shape(0) == p && start.shape(0) == p + 1, kernel,
            "inverse, l1 and ridge must have one value per column, start one more");
    for (std::size_t i = 0; i < n; ++i) require(codes(i) == 0 || codes(i) == 1, kernel, "codes must be 0 or 1");
    const L1LogisticProblem problem{rows.matrix, view(codes), view(weights), view(inverse),
                                    view(l1), view(ridge), intercept};
    std::vector<double> coefficients(start.data(), start.data() + p + 1);
    const L1LogisticResult found = without_gil(
        [&] { return l1_logistic(problem, tol, static_cast<index_t>(max_iter), threads, coefficients.data()); });
    std::vector<double> steps;
    for (const L1LogisticStep& step : found.steps)
        steps.insert(steps.end(), {step.objective, step.violation, step.longest});
    return nb::make_tuple(static_cast<int>(found.status), found.separated, own(std::move(coefficients)),
                          own(std::move(steps), found.steps.size(), 3));
}

}  // namespace

void bind_sparse(nb::module_& m) {
    nb::class_<SparseHandle>(m, "SparseMatrix", "A sparse table by row (or by column), checked once.")
        .def(nb::init<Column, Array1<const std::int32_t>, Array1<const std::int64_t>, std::int64_t>(),
             "values"_a.noconvert(), "indices"_a.noconvert(), "starts"_a.noconvert(), "places"_a)
        .def("product", &product<false>, "v"_a, "threads"_a, "X v for a vector, or for each column of v.")
        .def("transposed_product", &product<true>, "v"_a, "threads"_a, "X'v for a vector, or for each column of v.");
    m.def("sparse_gram", &gram, "rows"_a, "columns"_a, "weights"_a, "threads"_a, "X' diag(weights) X.");
    m.def("sparse_column_moments", &moments, "columns"_a, "weights"_a, "threads"_a,
          "(mean, variance, total weight) of the columns.");
    m.def("sparse_row_moments", &moments_by_row, "rows"_a, "weights"_a,
          "(mean, variance, total weight) of the columns, from the table by row.");
    m.def("l1_logistic", &l1_solution, "rows"_a, "codes"_a, "weights"_a, "inverse"_a, "l1"_a, "ridge"_a,
          "intercept"_a, "start"_a, "tol"_a, "max_iter"_a, "threads"_a,
          "(status, separated, coefficients, steps) of two-class logistic regression with an absolute penalty.");
}

}  // namespace assay::bindings
