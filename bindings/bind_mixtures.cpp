// Mixtures: passes of expectation-maximisation.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "assay/mixtures/gaussian.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Bounds = std::tuple<Array1<std::int32_t>, Array1<float>, Array1<const float>, Array1<const float>>;

}  // namespace

void bind_mixtures(nb::module_& m) {
    m.def(
        "gaussian_pass",
        [](const Array2<const double>& rows, const std::optional<Array1<const double>>& weights,
           const Array1<const double>& constants, const Array2<const double>& means, const Array2<const double>& whitening,
           bool diagonal, index_t factors, const std::optional<Bounds>& bounds, bool want_density, bool want_responsibilities, bool want_moments, int threads) {
            const char* who = "gaussian_pass";
            const auto x = view(rows);
            const auto n = static_cast<std::size_t>(x.rows), d = static_cast<std::size_t>(x.cols);
            const std::size_t k = constants.shape(0);
            require(k > 0 && d > 0, who, "there must be components and columns");
            require(means.shape(0) == k && means.shape(1) == d, who, "means must be k x d");
            require(factors >= 0 && !(diagonal && factors > 0), who, "factors must be 0 for diagonal covariances, and not negative");
            const auto q = static_cast<std::size_t>(factors);
            require(whitening.shape(0) == (diagonal ? k : q > 0 ? k * (q + 1) : k * d) && whitening.shape(1) == d, who,
                    "whitening must be (k d) x d, k x d if diagonal, or k (q + 1) x d with factors");
            require(!weights || weights->shape(0) == n, who, "weights must have one number per row");
            const mixtures::GaussianComponents components{static_cast<index_t>(k), diagonal, factors, constants.data(), means.data(),
                                                          whitening.data()};
            mixtures::GaussianBounds kept;
            if (bounds) {
                const auto& [owners, lower, shrink, shift] = *bounds;
                const auto block = static_cast<std::size_t>(mixtures::gaussian_block);
                require(owners.shape(0) == n && lower.shape(0) == (n + block - 1) / block * block * k, who,
                        "bounds must have one owner per row and one number per row of a block and component");
                require(shrink.shape(0) == k && shift.shape(0) == k, who, "bounds must have one move per component");
                for (std::size_t i = 0; i < n; ++i)
                    require(owners.data()[i] >= 0 && static_cast<std::size_t>(owners.data()[i]) < k, who,
                            "owners must be numbers of components");
                kept = {owners.data(), lower.data(), shrink.data(), shift.data()};
            }
            std::vector<double> density(want_density ? n : 0), shares(want_responsibilities ? n * k : 0);
            const std::size_t height = diagonal ? k : k * (q > 0 ? q + 2 : d + 1), width = diagonal ? 2 * d + 1 : d + 1;
            std::vector<double> moments(want_moments ? height * width : 0);
            const double total = without_gil([&] {
                return mixtures::gaussian_pass(x, weights ? weights->data() : nullptr, components,
                                               bounds ? &kept : nullptr, want_density ? density.data() : nullptr,
                                               want_responsibilities ? shares.data() : nullptr,
                                               want_moments ? moments.data() : nullptr, threads);
            });
            return nb::make_tuple(total, own(std::move(density)),
                                  own(std::move(shares), want_responsibilities ? n : 0, k),
                                  own(std::move(moments), want_moments ? height : 0, width));
        },
        "rows"_a, "weights"_a.none(), "constants"_a, "means"_a, "whitening"_a, "diagonal"_a, "factors"_a, "bounds"_a.none(), "want_density"_a,
        "want_responsibilities"_a, "want_moments"_a, "threads"_a,
        "Log likelihood, log densities, responsibilities and moments of a mixture of normal distributions.");
}

}  // namespace assay::bindings
