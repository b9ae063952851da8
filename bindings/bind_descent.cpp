// Descent on linear scores: gradient descent, the perceptron, pairwise ranking losses.
#include "assay/linear/gradient_descent.hpp"
#include "assay/linear/linear_rank.hpp"
#include "assay/linear/perceptron.hpp"
#include "bindings.hpp"
#include "sparse_handle.hpp"

namespace assay::bindings {
namespace {

using Rows = Array1<const std::int64_t>;
using Column = Array1<const double>;
using Table = Array2<const double>;

std::vector<double> copy_of(const Table& table) { return {table.data(), table.data() + table.size()}; }

void check_rows(const char* kernel, const Rows& rows, std::size_t n) {
    for (std::size_t i = 0; i < rows.shape(0); ++i)
        require(rows(i) >= 0 && static_cast<std::size_t>(rows(i)) < n, kernel, "rows must be row numbers of x");
}

DescentData descent_data(const char* kernel, const AnyTable& x, const Column& target, const Column& weights,
                         const Rows& rows, const Rows& validation, index_t outputs, bool intercept, int loss,
                         double parameter) {
    const auto n = static_cast<std::size_t>(x.x.rows);
    require(target.shape(0) == n, kernel, "target must have one value per row of x");
    require(weights.shape(0) == 0 || weights.shape(0) == n, kernel, "weights must be empty or one per row of x");
    require(rows.shape(0) > 0, kernel, "needs rows");
    require(outputs >= 1, kernel, "needs an output");
    require(loss >= 0 && loss < static_cast<int>(Loss::exponential), kernel, "no such loss");
    check_rows(kernel, rows, n);
    check_rows(kernel, validation, n);
    if (outputs > 1)
        for (std::size_t i = 0; i < n; ++i)
            require(target(i) >= 0 && target(i) < static_cast<double>(outputs), kernel, "codes must lie in 0..outputs-1");
    return {x.x, view(target), view(weights), view(rows), view(validation), outputs,
            intercept, static_cast<Loss>(loss), parameter, x.sparse};
}

nb::dict run_descent(const nb::object& table, const Column& target, const Column& weights, const Rows& rows,
                     const Rows& validation, const Table& theta, const Table& velocity, std::int64_t updates,
                     std::int64_t epochs, bool intercept, int loss, double parameter, index_t max_epochs,
                     index_t batch_size, int schedule, double eta0, double power, double decay, double momentum,
                     bool nesterov, double l1, double l2, double tol, index_t patience, bool by_gradient,
                     bool keep_best, bool shuffle, bool keep_path, std::uint64_t key, int threads) {
    const char* const kernel = "descend";
    const AnyTable x = AnyTable::of(table);
    require(static_cast<index_t>(theta.shape(1)) == x.x.cols + 1 && velocity.shape(0) == theta.shape(0) &&
                velocity.shape(1) == theta.shape(1),
            kernel, "theta and velocity must be outputs x (columns + 1)");
    require(schedule >= 0 && schedule <= static_cast<int>(StepRule::adaptive), kernel, "no such schedule");
    const std::size_t outputs = theta.shape(0), width = theta.shape(1);
    const DescentData data = descent_data(kernel, x, target, weights, rows, validation,
                                          static_cast<index_t>(outputs), intercept, loss, parameter);
    const DescentOptions options{max_epochs, batch_size, {static_cast<StepRule>(schedule), eta0, power, decay},
                                 momentum, nesterov, l1, l2, tol, patience, by_gradient, keep_best, shuffle, keep_path,
                                 key, threads};
    DescentState state{copy_of(theta), copy_of(velocity), updates, epochs};
    DescentHistory history = without_gil([&] { return descend(data, options, state); });
    nb::dict result;
    result["status"] = static_cast<int>(history.status);
    result["theta"] = own(std::move(state.theta), outputs, width);
    result["velocity"] = own(std::move(state.velocity), outputs, width);
    result["updates"] = state.updates;
    result["epochs"] = state.epochs;
    result["objective"] = own(std::move(history.objective));
    result["step"] = own(std::move(history.step));
    result["gradient"] = own(std::move(history.gradient));
    result["validation"] = own(std::move(history.validation));
    const std::size_t points = history.path.size() / (outputs * width);
    result["path"] = own(std::move(history.path), points, outputs * width);
    return result;
}

nb::tuple run_perceptron(const nb::object& table, const Array1<const std::int32_t>& codes, const Column& factors,
                         const Table& theta, const Table& drift, std::int64_t seen, std::int64_t epochs, bool intercept,
                         index_t max_epochs, index_t patience, bool shuffle, std::uint64_t key) {
    const char* const kernel = "perceptron_epochs";
    const AnyTable x = AnyTable::of(table);
    require(static_cast<index_t>(codes.shape(0)) == x.x.rows, kernel, "codes must have one value per row of x");
    require(static_cast<index_t>(theta.shape(1)) == x.x.cols + 1 && drift.shape(0) == theta.shape(0) && drift.shape(1) == theta.shape(1),
            kernel, "theta and drift must be outputs x (columns + 1)");
    const std::size_t outputs = theta.shape(0), width = theta.shape(1);
    const auto classes = static_cast<std::int32_t>(outputs == 1 ? 2 : outputs);
    require(factors.shape(0) == static_cast<std::size_t>(classes), kernel, "factors must have one value per class");
    for (std::size_t i = 0; i < codes.shape(0); ++i)
        require(codes(i) >= 0 && codes(i) < classes, kernel, "codes must be class numbers");
    PerceptronState state{copy_of(theta), copy_of(drift), seen, epochs};
    std::vector<std::int64_t> mistakes = without_gil([&] {
        return perceptron_epochs(x.x, view(codes), factors.data(), static_cast<index_t>(outputs), intercept, max_epochs,
                                 patience, shuffle, key, state, x.sparse);
    });
    return nb::make_tuple(own(std::move(state.theta), outputs, width), own(std::move(state.drift), outputs, width),
                          state.seen, state.epochs, own(std::move(mistakes)));
}

RankedRows ranked_rows(const char* kernel, const Column& scores, const Array1<const std::int32_t>& levels,
                       const Column& weights, const Rows& group_begin) {
    const std::size_t n = scores.shape(0), groups = group_begin.shape(0);
    require(levels.shape(0) == n, kernel, "levels must have one value per row");
    require(weights.shape(0) == 0 || weights.shape(0) == n, kernel, "weights must be empty or one per row");
    require(groups >= 2 && group_begin(0) == 0 && static_cast<std::size_t>(group_begin(groups - 1)) == n, kernel,
            "groups must cover the rows");
    for (std::size_t g = 1; g < groups; ++g)
        require(group_begin(g) > group_begin(g - 1), kernel, "groups must not be empty");
    return {view(scores), view(levels), view(weights), view(group_begin)};
}

}  // namespace

void bind_descent(nb::module_& m) {
    m.def("descend", &run_descent, "x"_a, "target"_a, "weights"_a, "rows"_a, "validation"_a, "theta"_a,
          "velocity"_a, "updates"_a, "epochs"_a, "intercept"_a, "loss"_a, "parameter"_a, "max_epochs"_a, "batch_size"_a,
          "schedule"_a, "eta0"_a, "power"_a, "decay"_a, "momentum"_a, "nesterov"_a, "l1"_a, "l2"_a, "tol"_a,
          "patience"_a, "by_gradient"_a, "keep_best"_a, "shuffle"_a, "keep_path"_a, "key"_a, "threads"_a,
          "Epochs of gradient descent on linear scores from a given state; the new state and the history.");
    m.def(
        "score_curvature",
        [](const nb::object& table, Column weights, Rows rows, bool intercept, int threads) {
            const char* const kernel = "score_curvature";
            const AnyTable x = AnyTable::of(table);
            const auto n = static_cast<std::size_t>(x.x.rows);
            require(weights.shape(0) == 0 || weights.shape(0) == n, kernel, "weights must be empty or one per row of x");
            require(rows.shape(0) > 0, kernel, "needs rows");
            check_rows(kernel, rows, n);
            DescentData data;
            data.x = x.x;
            data.sparse = x.sparse;
            data.weights = view(weights);
            data.rows = view(rows);
            data.intercept = intercept;
            const Curvature found = without_gil([&] { return score_curvature(data, threads); });
            return nb::make_tuple(found.mean, found.row);
        },
        "x"_a, "weights"_a, "rows"_a, "intercept"_a, "threads"_a,
        "(largest eigenvalue of the weighted mean of z z', largest weighted |z|^2 of a row), with z = [x, 1].");
    m.def("perceptron_epochs", &run_perceptron, "x"_a, "codes"_a, "factors"_a, "theta"_a, "drift"_a, "seen"_a,
          "epochs"_a, "intercept"_a, "max_epochs"_a, "patience"_a, "shuffle"_a, "key"_a,
          "(theta, drift, rows seen, epochs done, mistakes of each epoch) after epochs of the perceptron.");
    m.def(
        "rank_loss",
        [](Column scores, Array1<const std::int32_t> levels, Column weights, Rows group_begin, bool squared,
           int threads) {
            const RankedRows rows = ranked_rows("rank_loss", scores, levels, weights, group_begin);
            std::vector<double> gradient(scores.shape(0));
            const double loss = without_gil([&] {
                return rank_loss(rows, squared, {gradient.data(), static_cast<index_t>(gradient.size())}, threads);
            });
            return nb::make_tuple(loss, own(std::move(gradient)));
        },
        "scores"_a, "levels"_a, "weights"_a, "group_begin"_a, "squared"_a, "threads"_a,
        "(loss, gradient in the scores) of all pairs within groups whose levels differ.");
    m.def(
        "rank_curvature_product",
        [](Column scores, Array1<const std::int32_t> levels, Column weights, Rows group_begin, Column direction,
           int threads) {
            const RankedRows rows = ranked_rows("rank_curvature_product", scores, levels, weights, group_begin);
            require(direction.shape(0) == scores.shape(0), "rank_curvature_product", "direction must have one value per row");
            std::vector<double> product(scores.shape(0));
            without_gil([&] {
                rank_curvature_product(rows, view(direction), {product.data(), static_cast<index_t>(product.size())}, threads);
            });
            return own(std::move(product));
        },
        "scores"_a, "levels"_a, "weights"_a, "group_begin"_a, "direction"_a, "threads"_a,
        "The second derivative of half the squared hinge of all pairs at these scores, times a direction.");
    m.def(
        "count_pairs",
        [](Column scores, Array1<const std::int32_t> levels, Column weights, Rows group_begin, int threads) {
            const RankedRows rows = ranked_rows("count_pairs", scores, levels, weights, group_begin);
            const PairCounts found = without_gil([&] { return count_pairs(rows, threads); });
            return nb::make_tuple(found.ordered, found.tied, found.all);
        },
        "scores"_a, "levels"_a, "weights"_a, "group_begin"_a, "threads"_a,
        "Weight of the pairs within groups that are in order, tied, and of all pairs.");
}

}  // namespace assay::bindings
