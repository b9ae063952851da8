// Least squares in double-double arithmetic.
#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/linear/double_double_qr.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

nb::dict exact(Array2<const double> design, Array1<const double> target, std::optional<Array1<const double>> weights,
               bool intercept_first, double tolerance, int threads) {
    const char* name = "exact_least_squares";
    const std::size_t columns = design.shape(1);
    require(target.shape(0) == design.shape(0), name, "design and target must have the same number of rows");
    require(!weights || weights->shape(0) == design.shape(0), name, "weights must have one value per row");
    const double* w = weights ? weights->data() : nullptr;
    ExactLeastSquares fit = without_gil([&] {
        return exact_least_squares(view(design), target.data(), w, intercept_first, tolerance, threads);
    });
    nb::dict out;
    out["coefficients"] = own(std::move(fit.coefficients));
    out["inverse"] = own(std::move(fit.inverse), columns, columns);
    out["spread"] = own(std::move(fit.spread));
    out["remaining"] = own(std::move(fit.remaining));
    out["kept"] = own(std::move(fit.kept));
    out["residual_squares"] = fit.residual_squares;
    out["total_squares"] = fit.total_squares;
    return out;
}

}  // namespace

void bind_least_squares(nb::module_& m) {
    m.def("exact_least_squares", &exact, "design"_a.noconvert(), "target"_a.noconvert(), "weights"_a.none(),
          "intercept_first"_a, "tolerance"_a, "threads"_a,
          "Least squares by Gram-Schmidt in double-double arithmetic; dependent columns are left out.");
}

}  // namespace assay::bindings
