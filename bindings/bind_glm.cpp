// Generalised linear models: the fused pass, and coordinate descent on a quadratic with an L1 penalty.
#include "assay/linear/glm.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Rows = Array1<const std::int64_t>;
using Codes = Array2<const std::int32_t>;
using Starts = Array1<const std::int32_t>;
using Column = Array1<const double>;
using Table = Array2<const double>;

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

// The checked problem, held by Python between the passes of one fit; the arrays live as long as it does.
struct GlmHandle {
    Table x;
    Codes codes;
    Starts starts;
    Rows rows;
    Column y, weights, offset, centre, inverse_scale;
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
          inverse_scale(std::move(inverse_scale_)),
          problem{view(x),
                  view(codes),
                  view(starts),
                  view(rows),
                  view(y),
                  view(weights),
                  view(offset),
                  view(centre),
                  view(inverse_scale),
                  intercept,
                  policy<GlmFamily>(family, "family must be the number of a family"),
                  policy<GlmLink>(link, "link must be the number of a link"),
                  parameter} {
        check_problem(problem);
    }

    // (loss, Pearson sum, largest |y - mu|, rows without Newton curvature, gradient, matrix or empty); curvature 0: none, 1: Newton, 2: Fisher, 3: observed
    nb::tuple sums(const Column& coefficients, int curvature, int threads) const {
        require(static_cast<index_t>(coefficients.shape(0)) == problem.unknowns(), "GlmPasses",
                "coefficients must have one value per column, intercept and level");
        require(curvature >= 0 && curvature <= 3, "GlmPasses", "curvature must be 0, 1, 2 or 3");
        const auto count = static_cast<std::size_t>(problem.unknowns()), side = curvature == 0 ? 0 : count;
        std::vector<double> gradient(count), hessian(side * side);
        const GlmSums found = without_gil([&] {
            return glm_pass(problem, coefficients.data(), static_cast<GlmCurvature>(curvature), gradient.data(),
                            hessian.data(), threads);
        });
        return nb::make_tuple(found.loss, found.pearson, found.worst, found.replaced, own(std::move(gradient)),
                              own(std::move(hessian), side, side));
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
    nb::class_<GlmHandle>(m, "GlmPasses", "A generalised linear model on fixed rows: sums for any coefficients.")
        .def(nb::init<Table, Codes, Starts, Rows, Column, Column, Column, Column, Column, bool, int, int, double>(),
             "x"_a.noconvert(), "codes"_a, "starts"_a, "rows"_a, "y"_a, "weights"_a, "offset"_a, "centre"_a,
             "inverse_scale"_a, "intercept"_a, "family"_a, "link"_a, "parameter"_a)
        .def("sums", &GlmHandle::sums, "coefficients"_a, "curvature"_a, "threads"_a,
             "(half deviance, Pearson sum, largest residual, rows without Newton curvature, gradient, matrix) at these coefficients.");
    m.def("penalised_quadratic", &quadratic, "hessian"_a, "gradient"_a, "l1"_a, "start"_a, "tol"_a, "max_sweeps"_a,
          "(minimiser, sweeps) of a quadratic around `start` plus a weighted L1 norm.");
}

}  // namespace assay::bindings
