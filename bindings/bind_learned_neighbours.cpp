// Neighbours that are learned: condensed subsets and large margin metrics.
#include "assay/neighbours/condensed.hpp"
#include "assay/neighbours/large_margin.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using namespace assay::neighbours;

nb::tuple condensed(int metric, const Array2<const double>& rows, const Array1<const std::int32_t>& codes,
                    const Array1<const std::int64_t>& order) {
    const char* name = "condense";
    require(metric >= 0 && metric <= static_cast<int>(Metric::chebyshev), name,
            "metric must be euclidean, manhattan or chebyshev");
    require(codes.shape(0) == rows.shape(0) && order.shape(0) == rows.shape(0), name,
            "codes and order must have one value per row");
    for (std::size_t i = 0; i < order.shape(0); ++i)
        require(order.data()[i] >= 0 && static_cast<std::size_t>(order.data()[i]) < rows.shape(0), name,
                "order must hold row numbers");
    Condensed found =
        without_gil([&] { return condense(static_cast<Metric>(metric), view(rows), codes.data(), order.data()); });
    return nb::make_tuple(own(std::move(found.kept)), own(std::move(found.after_pass)));
}

nb::tuple margin_loss(const Array2<const double>& z, const Array2<const std::int64_t>& targets,
                      const Array2<const std::int64_t>& impostors, double push, int threads) {
    const char* name = "large_margin_loss";
    require(targets.shape(0) == z.shape(0) && impostors.shape(0) == z.shape(0), name,
            "targets and impostors must have one list per row");
    const auto rows = static_cast<std::int64_t>(z.shape(0));
    for (const auto* lists : {&targets, &impostors})
        for (std::size_t i = 0; i < lists->size(); ++i)
            require(lists->data()[i] >= -1 && lists->data()[i] < rows, name, "lists must hold row numbers or -1");
    std::vector<double> gradient(z.shape(0) * z.shape(1));
    const double loss = without_gil([&] {
        return large_margin_loss(view(z), view(targets), view(impostors), push, gradient.data(), threads);
    });
    return nb::make_tuple(loss, own(std::move(gradient), z.shape(0), z.shape(1)));
}

}  // namespace

void bind_learned_neighbours(nb::module_& m) {
    m.def("condense", &condensed, "metric"_a, "rows"_a, "codes"_a, "order"_a,
          "Rows kept by the condensed nearest neighbour rule, in the order kept, and how many after each pass.");
    m.def("large_margin_loss", &margin_loss, "z"_a, "targets"_a, "impostors"_a, "push"_a, "threads"_a,
          "The loss of large margin nearest neighbours and its gradient with respect to the mapped rows.");
}

}  // namespace assay::bindings
