// Clusterings: k-means.
#include <optional>

#include "assay/clustering/k_means.hpp"
#include "bindings.hpp"
#include <nanobind/stl/optional.h>

namespace assay::bindings {
namespace {

using Weights = std::optional<Array1<const double>>;

const double* weights_of(const Weights& weights, index_t n, const char* who) {
    if (!weights) return nullptr;
    require(static_cast<index_t>(weights->shape(0)) == n, who, "weights must have one number per row");
    return weights->data();
}

template <class T>
nb::tuple k_means_bound(const Array2<const T>& rows, const Weights& weights,
                        const nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>& starts,
                        index_t max_iter, double tol, bool bounds, bool record, int threads) {
    const char* who = "k_means";
    const auto x = view(rows);
    const auto restarts = static_cast<index_t>(starts.shape(0)), k = static_cast<index_t>(starts.shape(1));
    require(x.rows > 0 && x.cols > 0, who, "rows must not be empty");
    require(restarts > 0 && k > 0 && static_cast<index_t>(starts.shape(2)) == x.cols, who,
            "starts must be restarts x k x columns");
    require(k <= (1 << 30), who, "k is too large");
    const double* const w = weights_of(weights, x.rows, who);
    std::vector<double> centres(starts.data(), starts.data() + restarts * k * x.cols);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(restarts * x.rows));
    clustering::KMeansOptions options{max_iter, tol, bounds, record};
    const auto runs =
        without_gil([&] { return clustering::k_means(x, w, k, restarts, centres.data(), labels.data(), options, threads); });
    nb::list ends;
    for (const auto& run : runs) ends.append(nb::make_tuple(run.inertia, run.n_iter, run.converged, run.inertias));
    const auto rows_of = [](index_t size) { return static_cast<std::size_t>(size); };
    return nb::make_tuple(own(std::move(centres), rows_of(restarts * k), rows_of(x.cols)),
                          own(std::move(labels), rows_of(restarts), rows_of(x.rows)), ends);
}

template <class T>
nb::tuple nearest_centres_bound(const Array2<const T>& rows, const Array2<const double>& centres, int threads) {
    const auto x = view(rows);
    const auto c = view(centres);
    require(c.rows > 0 && c.cols == x.cols, "nearest_centres", "centres must have the columns of rows");
    std::vector<std::int32_t> labels(static_cast<std::size_t>(x.rows));
    std::vector<double> squared(labels.size());
    if (x.rows > 0) without_gil([&] { clustering::nearest_centres(x, c, labels.data(), squared.data(), threads); });
    return nb::make_tuple(own(std::move(labels)), own(std::move(squared)));
}

template <class T>
Result1<std::int64_t> plus_plus_bound(const Array2<const T>& rows, const Weights& weights, index_t k, index_t trials,
                                      std::uint64_t key, std::uint64_t stream, int threads) {
    const char* who = "plus_plus_starts";
    const auto x = view(rows);
    require(x.rows > 0 && k > 0 && trials > 0, who, "rows, k and trials must be positive");
    const double* const w = weights_of(weights, x.rows, who);
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(k));
    without_gil([&] { clustering::plus_plus_starts(x, w, k, trials, key, stream, chosen.data(), threads); });
    return own(std::move(chosen));
}

template <class T>
void bind_k_means(nb::module_& m) {
    m.def("k_means", &k_means_bound<T>, "rows"_a.noconvert(), "weights"_a.none(), "starts"_a, "max_iter"_a, "tol"_a,
          "bounds"_a, "record"_a, "threads"_a,
          "Lloyd's algorithm from several starts: centres, labels, and (inertia, steps, converged, inertias) of each.");
    m.def("nearest_centres", &nearest_centres_bound<T>, "rows"_a.noconvert(), "centres"_a, "threads"_a,
          "The nearest centre of each row and its squared distance.");
    m.def("plus_plus_starts", &plus_plus_bound<T>, "rows"_a.noconvert(), "weights"_a.none(), "k"_a, "trials"_a, "key"_a,
          "stream"_a, "threads"_a, "Row numbers of k starts by greedy k-means++.");
}

}  // namespace

void bind_clustering(nb::module_& m) {
    bind_k_means<double>(m);
    bind_k_means<float>(m);
}

}  // namespace assay::bindings
