// Losses by number: sums, gradients and Hessians over rows from raw scores.
#include <nanobind/stl/optional.h>

#include <optional>

#include "assay/losses/losses.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

// A place for results: n x K doubles, or None.
using Place = std::optional<Array2<double>>;

double gradient_of(int loss, double parameter, const Array1<const double>& y, const Array2<const double>& raw,
                   const Array1<const double>& weights, const Place& gradient, const Place& hessian, int threads) {
    const char* const kernel = "loss_gradient";
    const auto n = raw.shape(0), outputs = raw.shape(1);
    require(loss >= 0 && loss < static_cast<int>(Loss::count), kernel, "no such loss");
    require(outputs >= 1, kernel, "raw must have a column");
    require(y.shape(0) == n, kernel, "y must have one value per row of raw");
    require(weights.shape(0) == 0 || weights.shape(0) == n, kernel, "weights must be empty or one per row of raw");
    for (const Place* place : {&gradient, &hessian})
        require(!*place || ((*place)->shape(0) == n && (*place)->shape(1) == outputs), kernel,
                "gradient and hessian must have the shape of raw");
    if (outputs > 1)
        for (std::size_t i = 0; i < n; ++i)
            require(y(i) >= 0 && y(i) < static_cast<double>(outputs), kernel, "codes must lie in 0..outputs-1");
    const LossRows rows{static_cast<Loss>(loss), parameter, view(y), view(raw), view(weights)};
    return without_gil([&] {
        return loss_gradient(rows, gradient ? gradient->data() : nullptr, hessian ? hessian->data() : nullptr, threads);
    });
}

}  // namespace

void bind_losses(nb::module_& m) {
    m.def("loss_names", &loss_names, "Names of the losses, in the order of their numbers.");
    m.def("loss_gradient", &gradient_of, "loss"_a, "parameter"_a, "y"_a, "raw"_a, "weights"_a,
          "gradient"_a.noconvert().none(), "hessian"_a.noconvert().none(), "threads"_a,
          "Weighted sum of losses at raw scores; gradient and Hessian are written where places are given.");
}

}  // namespace assay::bindings
