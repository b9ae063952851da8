// Multilayer perceptrons.
#include <numeric>

#include "assay/neural/mlp.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Rows = Array1<const std::int64_t>;
using Column = Array1<const double>;
using Table = Array2<const double>;

MlpNet net_of(const char* kernel, const std::vector<index_t>& widths, int activation, int loss, double parameter, bool classes) {
    require(widths.size() >= 2, kernel, "needs inputs and outputs");
    for (const index_t width : widths) require(width >= 1, kernel, "every layer needs a unit");
    require(activation >= 0 && activation <= static_cast<int>(Activation::relu), kernel, "no such activation");
    require(loss >= 0 && loss < static_cast<int>(Loss::count), kernel, "no such loss");
    return {widths, static_cast<Activation>(activation), static_cast<Loss>(loss), parameter, classes};
}

// The data of a net, without the choice of rows.
MlpData data_of(const char* kernel, const MlpNet& net, const Table& x, const Table& target, const Column& weights) {
    const std::size_t n = x.shape(0);
    require(static_cast<index_t>(x.shape(1)) == net.widths[0], kernel, "x must have one column per input");
    require(target.shape(0) == n, kernel, "target must have one row per row of x");
    require(static_cast<index_t>(target.shape(1)) == (net.classes ? 1 : net.outputs()), kernel,
            "target must have one column per output, or one of codes");
    require(weights.shape(0) == 0 || weights.shape(0) == n, kernel, "weights must be empty or one per row of x");
    const double codes = net.outputs() == 1 ? 2.0 : static_cast<double>(net.outputs());
    for (std::size_t i = 0; net.classes && i < n; ++i)
        require(target(i, 0) >= 0 && target(i, 0) < codes, kernel, "codes must be class numbers");
    return {view(x), view(target), view(weights), {}, {}};
}

template <class T>
nb::dict run_epochs(const Table& x, const Table& target, const Column& weights, const Rows& rows, const Rows& validation,
                    const std::vector<index_t>& widths, Array1<T> theta, Array1<T> first, Array1<T> second,
                    std::int64_t updates, std::int64_t epochs, int activation, int loss, double parameter, bool classes,
                    int solver, index_t max_epochs, index_t batch_size, int schedule, double eta0, double power,
                    double decay, double momentum, bool nesterov, double beta1, double beta2, double epsilon, double l1,
                    double l2, double dropout, double tol, index_t patience, bool shuffle, std::uint64_t key, int threads) {
    const char* const kernel = "mlp_epochs";
    const MlpNet net = net_of(kernel, widths, activation, loss, parameter, classes);
    MlpData data = data_of(kernel, net, x, target, weights);
    require(rows.shape(0) > 0, kernel, "needs rows");
    for (const Rows* some : {&rows, &validation})
        for (std::size_t i = 0; i < some->shape(0); ++i)
            require((*some)(i) >= 0 && (*some)(i) < data.x.rows, kernel, "rows must be row numbers of x");
    data.rows = view(rows);
    data.validation = view(validation);
    const auto size = static_cast<std::size_t>(net.size());
    require(solver >= 0 && solver <= static_cast<int>(MlpSolver::adam), kernel, "no such solver");
    require(schedule >= 0 && schedule <= static_cast<int>(StepRule::adaptive), kernel, "no such schedule");
    require(theta.shape(0) == size && first.shape(0) == size &&
                (second.shape(0) == size || static_cast<MlpSolver>(solver) == MlpSolver::sgd),
            kernel, "theta and its moments must have one value per weight");
    require(dropout >= 0.0 && dropout < 1.0, kernel, "dropout must be in [0, 1)");
    const MlpOptions options{static_cast<MlpSolver>(solver), max_epochs, batch_size, {static_cast<StepRule>(schedule), eta0, power, decay},
                             momentum, nesterov, beta1, beta2, epsilon, l1, l2, dropout, tol, patience,
                             shuffle, key, threads};
    MlpState<T> state{theta.data(), first.data(), second.data(), updates, epochs};
    MlpHistory history = without_gil([&] { return mlp_epochs<T>(net, data, options, state); });
    nb::dict result;
    result["status"] = static_cast<int>(history.status);
    result["updates"] = state.updates;
    result["epochs"] = state.epochs;
    put(result, "loss", history.loss, "step", history.step, "validation", history.validation);
    return result;
}

template <class T>
nb::tuple run_gradient(const Table& x, const Table& target, const Column& weights, const std::vector<index_t>& widths,
                       const Array1<const T>& theta, int activation, int loss, double parameter, bool classes, double l1,
                       double l2, int threads) {
    const char* const kernel = "mlp_gradient";
    const MlpNet net = net_of(kernel, widths, activation, loss, parameter, classes);
    require(x.shape(0) > 0, kernel, "needs rows");
    MlpData data = data_of(kernel, net, x, target, weights);
    std::vector<std::int64_t> every(x.shape(0));
    std::iota(every.begin(), every.end(), std::int64_t{0});
    data.rows = {every.data(), static_cast<index_t>(every.size())};
    require(theta.shape(0) == static_cast<std::size_t>(net.size()), kernel, "theta must have one value per weight");
    MlpOptions options;
    options.l1 = l1, options.l2 = l2, options.threads = threads;
    std::vector<T> gradient(theta.shape(0));
    const double value = without_gil([&] { return mlp_gradient<T>(net, data, options, theta.data(), gradient.data()); });
    return nb::make_tuple(value, own(std::move(gradient)));
}

template <class T>
Result2<double> run_scores(const Table& x, const std::vector<index_t>& widths, const Array1<const T>& theta, int activation,
                           int threads) {
    const char* const kernel = "mlp_scores";
    const MlpNet net = net_of(kernel, widths, activation, 0, 0.0, false);
    require(static_cast<index_t>(x.shape(1)) == net.widths[0], kernel, "x must have one column per input");
    require(theta.shape(0) == static_cast<std::size_t>(net.size()), kernel, "theta must have one value per weight");
    std::vector<double> scores(x.shape(0) * static_cast<std::size_t>(net.outputs()));
    without_gil([&] { mlp_scores<T>(net, theta.data(), view(x), scores.data(), threads); });
    return own(std::move(scores), x.shape(0), static_cast<std::size_t>(net.outputs()));
}

template <class T>
void bind_for(nb::module_& m) {
    m.def("mlp_epochs", &run_epochs<T>, "x"_a.noconvert(), "target"_a.noconvert(), "weights"_a, "rows"_a, "validation"_a, "widths"_a,
          "theta"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(), "updates"_a, "epochs"_a, "activation"_a,
          "loss"_a, "parameter"_a, "classes"_a, "solver"_a, "max_epochs"_a, "batch_size"_a, "schedule"_a, "eta0"_a,
          "power"_a, "decay"_a, "momentum"_a, "nesterov"_a, "beta1"_a, "beta2"_a, "epsilon"_a, "l1"_a, "l2"_a,
          "dropout"_a, "tol"_a, "patience"_a, "shuffle"_a, "key"_a, "threads"_a,
          "Epochs of back-propagation; theta and its moments are changed in place; counts and the history come back.");
    m.def("mlp_gradient", &run_gradient<T>, "x"_a.noconvert(), "target"_a.noconvert(), "weights"_a, "widths"_a,
          "theta"_a.noconvert(), "activation"_a, "loss"_a, "parameter"_a, "classes"_a, "l1"_a, "l2"_a, "threads"_a,
          "(objective, gradient) of a net in all rows; the absolute penalty is in the objective alone.");
    m.def("mlp_scores", &run_scores<T>, "x"_a.noconvert(), "widths"_a, "theta"_a.noconvert(), "activation"_a, "threads"_a,
          "Scores of the rows: one column per output.");
}

}  // namespace

void bind_neural(nb::module_& m) {
    bind_for<float>(m);
    bind_for<double>(m);
}

}  // namespace assay::bindings
