// Generalised linear models: the passes, and coordinate descent on a quadratic with an L1 penalty.
#include <optional>

#include "assay/linear/glm.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Rows = Array1<const std::int64_t>;
using Codes = Array2<const std::int32_t>;
using Starts = Array1<const std::int32_t>;
using Column = Array1<const double>;
using Table = Array2<const double>;

constexpr std::int32_t no_levels = 0;

void check_problem(const GlmProblem& problem) {
    const char* const kernel = "GlmPasses";
    const index_t n = problem.x.rows;
    require(problem.y.size == n, kernel, "y must have one value per row of x");
    require(problem.codes.rows == n, kernel, "codes must have one row per row of x");
    require(problem.weights.empty() || problem.weights.size == n, kernel, "weights must be empty or one per row of x");
    require(problem.offset.empty() || problem.offset.size == n, kernel, "offset must be empty or one per row of x");
    require(problem.centre.size == problem.x.cols && problem.inverse_scale.size == problem.x.cols, kernel,
            "centre and inverse_scale must have one value per column of x");
    require(problem.starts.size == problem.codes.cols + 1 && problem.starts[0] == 0, kernel,
            "starts must begin with 0 and have one value more than codes has columns");
    for (index_t c = 0; c < problem.codes.cols; ++c)
        require(problem.starts[c] <= problem.starts[c + 1], kernel, "starts must not fall");
    for (index_t i = 0; i < problem.rows.size; ++i)
        require(problem.rows[i] >= 0 && problem.rows[i] < n, kernel, "rows must be row numbers of x");
    for (index_t i = 0; i < problem.row_count(); ++i)
        for (index_t c = 0; c < problem.codes.cols; ++c) {
            const auto code = problem.codes(problem.row(i), c);
            require((code >= problem.starts[c] && code < problem.starts[c + 1]) || code == problem.levels(), kernel,
                    "codes must be levels of their column or the number of levels");
        }
}

template <class Enum>
Enum policy(int value, const char* rule) {
    require(value >= 0 && value < static_cast<int>(Enum::count), "GlmPasses", rule);
    return static_cast<Enum>(value);
}

// The matrix of a sparse table too wide to form, Z' diag(curvatures) Z, by its products; `owner` holds the table.
struct HessianProducts {
    nb::object owner;
    SparseColumns columns;
    std::vector<double> curvatures;
    int threads;
    std::vector<double> known;  // the diagonal

    HessianProducts(nb::object owner_, SparseColumns columns_, std::vector<double> curvatures_, int threads_)
        : owner(std::move(owner_)),
          columns(columns_),
          curvatures(std::move(curvatures_)),
          threads(threads_),
          known(static_cast<std::size_t>(columns.width())) {
        without_gil([&] { columns.gram_diagonal(weights(), known.data(), threads); });
    }
    Vector<const double> weights() const { return {curvatures.data(), static_cast<index_t>(curvatures.size())}; }
    Result1<double> diagonal() const { return own(std::vector<double>(known)); }
    Result1<double> solve(const Column& right, const Column& ridge, const Array1<const bool>& active,
                          double accuracy) const {
        require(right.shape(0) == known.size() && ridge.shape(0) == known.size() && active.shape(0) == known.size(),
                "HessianProducts", "right, ridge and active must have one value per unknown");
        std::vector<double> x(known.size());
        without_gil([&] {
            solve_by_products(columns, weights(), known.data(), right.data(), ridge.data(), active.data(), accuracy,
                              x.data(), threads);
        });
        return own(std::move(x));
    }
};

// The checked problem, held by Python between the passes of one fit; the arrays live as long as it does.
struct GlmHandle {
    Table x;
    Codes codes;
    Starts starts;
    Rows rows;
    Column y, weights, offset, centre, inverse_scale;
    std::optional<SparsePair> table;
    bool square = true;
    GlmProblem problem;

    GlmHandle(Table x_, Codes codes_, Starts starts_, Rows rows_, Column y_, Column weights_, Column offset_,
              Column centre_, Column inverse_scale_, bool intercept, int family, int link, double parameter)
        : x(std::move(x_)),
          codes(std::move(codes_)),
          starts(std::move(starts_)),
          rows(std::move(rows_)),
          y(std::move(y_)),
          weights(std::move(weights_)),
          offset(std::move(offset_)),
          centre(std::move(centre_)),
          inverse_scale(std::move(inverse_scale_)) {
        problem.x = view(x);
        problem.codes = view(codes);
        problem.starts = view(starts);
        problem.rows = view(rows);
        complete(intercept, family, link, parameter);
    }

    GlmHandle(const SparseHandle& by_row, const SparseHandle& by_column, bool square_, Column y_, Column weights_,
              Column offset_, Column centre_, Column inverse_scale_, bool intercept, int family, int link,
              double parameter)
        : y(std::move(y_)),
          weights(std::move(weights_)),
          offset(std::move(offset_)),
          centre(std::move(centre_)),
          inverse_scale(std::move(inverse_scale_)),
          table(std::in_place, "GlmPasses", by_row, &by_column),
          square(square_) {
        problem.x = table->shape();
        problem.codes = {nullptr, problem.x.rows, 0, 0, 1};
        problem.starts = {&no_levels, 1};
        problem.by_row = table->rows.matrix;
        problem.by_column = table->by_column();
        complete(intercept, family, link, parameter);
    }

    void complete(bool intercept, int family, int link, double parameter) {
        problem.y = view(y);
        problem.weights = view(weights);
        problem.offset = view(offset);
        problem.centre = view(centre);
        problem.inverse_scale = view(inverse_scale);
        problem.intercept = intercept;
        problem.family = policy<GlmFamily>(family, "family must be the number of a family");
        problem.link = policy<GlmLink>(link, "link must be the number of a link");
        problem.parameter = parameter;
        check_problem(problem);
    }

    // (loss, Pearson sum, largest |y - mu|, rows without Newton curvature, gradient, matrix, its products if it is not to
    // be formed, or empty); curvature 0: none, 1: Newton, 2: Fisher, 3: observed
    nb::tuple sums(const Column& coefficients, int curvature, int threads) const {
        require(static_cast<index_t>(coefficients.shape(0)) == problem.unknowns(), "GlmPasses",
                "coefficients must have one value per column, intercept and level");
        require(curvature >= 0 && curvature <= 3, "GlmPasses", "curvature must be 0, 1, 2 or 3");
        const auto count = static_cast<std::size_t>(problem.unknowns()), side = curvature == 0 ? 0 : count;
        if (!square && curvature != 0) return by_products(coefficients, static_cast<GlmCurvature>(curvature), threads);
        std::vector<double> gradient(count), hessian(side * side);
        const GlmSums found = without_gil([&] {
            return glm_pass(problem, coefficients.data(), static_cast<GlmCurvature>(curvature), gradient.data(),
                            hessian.data(), threads);
        });
        return nb::make_tuple(found.loss, found.pearson, found.worst, found.replaced, own(std::move(gradient)),
                              own(std::move(hessian), side, side));
    }

    nb::tuple by_products(const Column& coefficients, GlmCurvature curvature, int threads) const {
        std::vector<double> gradient(coefficients.shape(0)), curvatures(y.shape(0));
        const GlmSums found = without_gil([&] {
            return sparse_glm_pass(problem, coefficients.data(), curvature, gradient.data(), curvatures.data(), threads);
        });
        return nb::make_tuple(found.loss, found.pearson, found.worst, found.replaced, own(std::move(gradient)),
                              HessianProducts(nb::find(this), problem.sparse_columns(), std::move(curvatures), threads));
    }
};

// (minimiser, sweeps)
nb::tuple quadratic(const Table& hessian, const Column& gradient, const Column& l1, const Column& start, double tol,
                    std::int64_t max_sweeps) {
    const auto size = hessian.shape(0);
    require(hessian.shape(1) == size && gradient.shape(0) == size && l1.shape(0) == size && start.shape(0) == size,
            "penalised_quadratic", "hessian must be square, and the vectors as long as its side");
    std::vector<double> x(start.data(), start.data() + size);
    const index_t sweeps = without_gil([&] {
        return penalised_quadratic(view(hessian), gradient.data(), l1.data(), tol, static_cast<index_t>(max_sweeps),
                                   x.data());
    });
    return nb::make_tuple(own(std::move(x)), sweeps);
}

}  // namespace

void bind_glm(nb::module_& m) {
    nb::class_<HessianProducts>(m, "HessianProducts", "Z' diag(curvatures) Z by its products, for tables too wide to form it.")
        .def("diagonal", &HessianProducts::diagonal, "Its diagonal.")
        .def("solve", &HessianProducts::solve, "right"_a, "ridge"_a, "active"_a, "accuracy"_a,
             "The solution for (matrix + diag(ridge)) x = right over the active unknowns, by conjugate gradients.");
    nb::class_<GlmHandle>(m, "GlmPasses", "A generalised linear model on fixed rows: sums for any coefficients.")
        .def(nb::init<Table, Codes, Starts, Rows, Column, Column, Column, Column, Column, bool, int, int, double>(),
             "x"_a.noconvert(), "codes"_a, "starts"_a, "rows"_a, "y"_a, "weights"_a, "offset"_a, "centre"_a,
             "inverse_scale"_a, "intercept"_a, "family"_a, "link"_a, "parameter"_a)
        .def(nb::init<const SparseHandle&, const SparseHandle&, bool, Column, Column, Column, Column, Column, bool, int,
                      int, double>(),
             "by_row"_a, "by_column"_a, "square"_a, "y"_a, "weights"_a, "offset"_a, "centre"_a, "inverse_scale"_a,
             "intercept"_a, "family"_a, "link"_a, "parameter"_a)
        .def("sums", &GlmHandle::sums, "coefficients"_a, "curvature"_a, "threads"_a,
             "(half deviance, Pearson sum, largest residual, rows without Newton curvature, gradient, matrix) at these coefficients.");
    m.def("penalised_quadratic", &quadratic, "hessian"_a, "gradient"_a, "l1"_a, "start"_a, "tol"_a, "max_sweeps"_a,
          "(minimiser, sweeps) of a quadratic around `start` plus a weighted L1 norm.");
}

}  // namespace assay::bindings
