// Lasso and elastic net paths, from moments or from columns.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>


#include <nanobind/stl/optional.h>

#include "assay/common/large_pages.hpp"
#include "assay/linear/elastic_net.hpp"
#include "bindings.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Start = std::optional<Array2<const double>>;

// The penalties and how to solve for them, checked against the number of columns.
struct Path {
    Array1<const double> alphas;
    double l1_ratio;
    Array1<const double> penalty_weights;
    bool positive;
    double tolerance;
    std::int64_t max_sweeps;
    bool refine, trace;

    ElasticNetTask check(std::size_t columns) const {
        require(penalty_weights.shape(0) == columns, "elastic_net", "penalty_weights must have one value per column");
        return {alphas.data(), static_cast<index_t>(alphas.shape(0)), l1_ratio, penalty_weights.data(), positive,
                tolerance,     static_cast<index_t>(max_sweeps),      refine,   trace};
    }
};

// The coefficients that are not zero: columns and values of each solution, from its start to that of the next.
nb::dict give(ElasticNetSolution&& solution, std::size_t problems, std::size_t alphas) {
    nb::dict out;
    std::vector<std::int64_t> starts{0};
    for (const ElasticNetPoint& point : solution.points)
        starts.push_back(starts.back() + static_cast<std::int64_t>(point.columns.size()));
    std::vector<std::int32_t> places;
    std::vector<double> values;
    places.reserve(static_cast<std::size_t>(starts.back()));
    values.reserve(static_cast<std::size_t>(starts.back()));
    for (ElasticNetPoint& point : solution.points) {
        for (const index_t column : point.columns) places.push_back(static_cast<std::int32_t>(column));
        values.insert(values.end(), point.values.begin(), point.values.end());
        point = {};
    }
    put(out, "starts", starts, "places", places, "values", values);
    out["gaps"] = own(std::move(solution.gaps), problems, alphas);
    out["sweeps"] = own(std::move(solution.sweeps), problems, alphas);
    out["objective"] = own(std::move(solution.objective));
    out["traced"] = own(std::move(solution.traced));
    out["finite"] = solution.finite;
    return out;
}

const double* start_of(const char* kernel, const Start& start, std::size_t problems, std::size_t columns) {
    require(!start || (start->shape(0) == problems && start->shape(1) == columns), kernel,
            "start must have one row per problem and one value per column");
    return start ? start->data() : nullptr;
}

nb::dict from_moments(std::vector<Array2<const double>> grams, Array2<const double> cross,
                      Array1<const double> y_squares, Start start, const Path& path, int threads) {
    const char* name = "elastic_net_from_moments";
    const std::size_t problems = grams.size(), p = cross.shape(1);
    require(problems > 0 && cross.shape(0) == problems && y_squares.shape(0) == problems, name,
            "grams, cross and y_squares must have one entry per problem");
    std::vector<ElasticNetMoments> moments;
    for (std::size_t f = 0; f < problems; ++f) {
        require(grams[f].shape(0) == p && grams[f].shape(1) == p, name, "each gram must be square, as wide as cross");
        moments.push_back({grams[f].data(), cross.data() + f * p, y_squares.data()[f]});
    }
    const ElasticNetTask task = path.check(p);
    const double* from = start_of(name, start, problems, p);
    ElasticNetSolution solution = without_gil(
        [&] { return elastic_net_from_moments(moments, static_cast<index_t>(p), from, task, threads); });
    return give(std::move(solution), problems, path.alphas.shape(0));
}

nb::dict solve_table(const char* name, const ColumnTable& table, std::size_t length, Array2<const double> weights,
                     bool intercept, const Start& start, const Path& path, int threads) {
    const auto p = static_cast<std::size_t>(table.p), stride = static_cast<std::size_t>(table.stride);
    const std::size_t problems = weights.shape(0);
    require(stride % 8 == 0, name, "columns must be padded to a multiple of 8 rows");
    require(length == stride && weights.shape(1) == stride, name, "target and weights must be as long as a column");
    require(problems > 0, name, "weights must have one row per problem");
    const ElasticNetTask task = path.check(p);
    const double* from = start_of(name, start, problems, p);
    std::vector<double> x_mean(problems * p), y_mean(problems);
    ElasticNetSolution solution = without_gil([&] {
        return elastic_net_from_columns(table, weights.data(), static_cast<index_t>(problems), intercept, from, task,
                                        x_mean.data(), y_mean.data(), threads);
    });
    nb::dict out = give(std::move(solution), problems, path.alphas.shape(0));
    out["x_mean"] = own(std::move(x_mean), problems, p);
    out["y_mean"] = own(std::move(y_mean));
    return out;
}

nb::dict from_columns(Array2<const double> columns, Array1<const double> target, Array2<const double> weights,
                      bool intercept, Start start, const Path& path, int threads) {
    const ColumnTable table{columns.data(), target.data(), static_cast<index_t>(columns.shape(0)),
                            static_cast<index_t>(columns.shape(1))};
    return solve_table("elastic_net_from_columns", table, target.shape(0), weights, intercept, start, path, threads);
}

nb::dict from_rows(Array2<const double> rows, Array1<const double> shift, Array1<const double> target,
                   Array2<const double> weights, bool intercept, Start start, const Path& path, int threads) {
    const char* name = "elastic_net_from_rows";
    require(shift.shape(0) == rows.shape(1), name, "shift must have one value per column");
    const ColumnTable table{nullptr,    target.data(), static_cast<index_t>(rows.shape(1)),
                            static_cast<index_t>((rows.shape(0) + 7) / 8 * 8), view(rows), shift.data()};
    return solve_table(name, table, target.shape(0), weights, intercept, start, path, threads);
}

nb::dict from_sparse_columns(const SparseHandle& columns, Array1<const double> target, Array2<const double> weights,
                             bool intercept, Start start, const Path& path, int threads) {
    const char* name = "elastic_net_from_sparse_columns";
    const auto p = static_cast<std::size_t>(columns.matrix.lines), n = static_cast<std::size_t>(columns.matrix.places);
    const std::size_t problems = weights.shape(0);
    require(target.shape(0) == n && weights.shape(1) == n, name, "target and weights must have one value per row");
    require(problems > 0, name, "weights must have one row per problem");
    const ElasticNetTask task = path.check(p);
    const double* from = start_of(name, start, problems, p);
    std::vector<double> x_mean(problems * p), y_mean(problems);
    const SparseColumnTable table{columns.matrix, target.data()};
    ElasticNetSolution solution = without_gil([&] {
        return elastic_net_from_sparse_columns(table, weights.data(), static_cast<index_t>(problems), intercept, from,
                                               task, x_mean.data(), y_mean.data(), threads);
    });
    nb::dict out = give(std::move(solution), problems, path.alphas.shape(0));
    out["x_mean"] = own(std::move(x_mean), problems, p);
    out["y_mean"] = own(std::move(y_mean));
    return out;
}

// On large pages: a table written by column touches more small ones than the processor keeps.
Result2<double> columns_of(Array2<const double> x, Array1<const double> shift, int threads) {
    require(shift.shape(0) == x.shape(1), "shifted_columns", "shift must have one value per column");
    const std::size_t stride = (x.shape(0) + 7) / 8 * 8, size = x.shape(1) * stride;
    double* const held = LargePages<double>().allocate(size);
    nb::capsule owner(held, [](void* p) noexcept { std::free(p); });
    without_gil([&] { shifted_columns(view(x), shift.data(), held, static_cast<index_t>(stride), threads); });
    return Result2<double>(held, {x.shape(1), stride}, owner);
}

}  // namespace

void bind_elastic_net(nb::module_& m) {
    nb::class_<Path>(m, "ElasticNetPath", "The penalties of an elastic net path and how to solve for them.")
        .def(
            "__init__",
            [](Path* self, Array1<const double> alphas, double l1_ratio, Array1<const double> penalty_weights,
               bool positive, double tolerance, std::int64_t max_sweeps, bool refine, bool trace) {
                new (self) Path{alphas, l1_ratio, penalty_weights, positive, tolerance, max_sweeps, refine, trace};
            },
            "alphas"_a, "l1_ratio"_a, "penalty_weights"_a, "positive"_a, "tolerance"_a, "max_sweeps"_a, "refine"_a,
            "trace"_a);
    m.def("elastic_net_from_moments", &from_moments, "grams"_a, "cross"_a.noconvert(), "y_squares"_a.noconvert(),
          "start"_a.none(), "path"_a, "threads"_a, "Elastic net paths of problems given by their moments.");
    m.def("elastic_net_from_columns", &from_columns, "columns"_a.noconvert(), "target"_a.noconvert(),
          "weights"_a.noconvert(), "intercept"_a, "start"_a.none(), "path"_a, "threads"_a,
          "Elastic net paths of one table under several row weightings.");
    m.def("elastic_net_from_rows", &from_rows, "rows"_a.noconvert(), "shift"_a.noconvert(), "target"_a.noconvert(),
          "weights"_a.noconvert(), "intercept"_a, "start"_a.none(), "path"_a, "threads"_a,
          "The same of the rows less the shift; target and weights are padded to a multiple of 8 rows.");
    m.def("elastic_net_from_sparse_columns", &from_sparse_columns, "columns"_a, "target"_a.noconvert(),
          "weights"_a.noconvert(), "intercept"_a, "start"_a.none(), "path"_a, "threads"_a,
          "Elastic net paths of one sparse table, given by column, under several row weightings.");
    m.def("shifted_columns", &columns_of, "x"_a.noconvert(), "shift"_a.noconvert(), "threads"_a,
          "The table by column, less the shift, each column padded with zeros to a multiple of 8 rows.");
}

}  // namespace assay::bindings
