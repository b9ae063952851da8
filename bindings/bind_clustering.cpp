// Clusterings: k-means, k-medians, density, hierarchies.
#include <optional>

#include "assay/clustering/dbscan.hpp"
#include "assay/clustering/k_means.hpp"
#include "assay/clustering/k_medians.hpp"
#include "assay/clustering/kernel_k_means.hpp"
#include "assay/clustering/linkage.hpp"
#include "assay/clustering/spanning_tree.hpp"
#include "assay/common/large_pages.hpp"
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

using Starts = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Checks what restarts over the same rows take, lets `descend(centres, labels)` work without the lock, and gives back centres,
// labels and how each restart ended.
template <class T, class Descend>
nb::tuple restarts_bound(const char* who, const Array2<const T>& rows, const Starts& starts, Descend&& descend) {
    const auto x = view(rows);
    const auto restarts = static_cast<index_t>(starts.shape(0)), k = static_cast<index_t>(starts.shape(1));
    require(x.rows > 0 && x.cols > 0, who, "rows must not be empty");
    require(restarts > 0 && k > 0 && static_cast<index_t>(starts.shape(2)) == x.cols, who,
            "starts must be restarts x k x columns");
    require(k <= (1 << 30), who, "k is too large");
    std::vector<double> centres(starts.data(), starts.data() + restarts * k * x.cols);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(restarts * x.rows));
    const auto runs = without_gil([&] { return descend(k, restarts, centres.data(), labels.data()); });
    nb::list ends;
    for (const auto& run : runs) ends.append(nb::make_tuple(run.inertia, run.n_iter, run.converged, run.inertias));
    const auto rows_of = [](index_t size) { return static_cast<std::size_t>(size); };
    return nb::make_tuple(own(std::move(centres), rows_of(restarts * k), rows_of(x.cols)),
                          own(std::move(labels), rows_of(restarts), rows_of(x.rows)), ends);
}

template <class T>
nb::tuple k_means_bound(const Array2<const T>& rows, const Weights& weights, const Starts& starts, index_t max_iter,
                        double tol, bool bounds, bool record, int threads) {
    const auto x = view(rows);
    const double* const w = weights_of(weights, x.rows, "k_means");
    const clustering::KMeansOptions options{max_iter, tol, bounds, record};
    return restarts_bound("k_means", rows, starts, [&](index_t k, index_t restarts, double* centres, std::int32_t* labels) {
        return clustering::k_means(x, w, k, restarts, centres, labels, options, threads);
    });
}

nb::tuple k_medians_bound(const Array2<const double>& rows, const Weights& weights, const Starts& starts, index_t max_iter,
                          bool record, int threads) {
    const auto x = view(rows);
    const double* const w = weights_of(weights, x.rows, "k_medians");
    return restarts_bound("k_medians", rows, starts, [&](index_t k, index_t restarts, double* centres, std::int32_t* labels) {
        return clustering::k_medians(x, w, k, restarts, centres, labels, max_iter, record, threads);
    });
}

// Kernel k-means from starts; `lines_of()` gives the lines of the kernel matrix of n rows.
template <class LinesOf>
nb::tuple kernel_k_means_from(const char* who, index_t n, const Weights& weights, const Array2<const std::int64_t>& starts,
                              index_t max_iter, bool record, int threads, LinesOf&& lines_of) {
    const std::size_t restarts = starts.shape(0), k = starts.shape(1), rows = static_cast<std::size_t>(n);
    require(restarts > 0 && k > 0 && k <= rows, who, "starts must be restarts x k rows, k at most the number of rows");
    for (std::size_t s = 0; s < restarts * k; ++s)
        require(starts.data()[s] >= 0 && starts.data()[s] < n, who, "starts must be numbers of rows");
    const double* const w = weights_of(weights, n, who);
    std::vector<std::int32_t> labels(restarts * rows);
    std::vector<double> norms(restarts * k);
    const auto runs = without_gil([&] {
        return clustering::kernel_k_means(lines_of(), w, static_cast<index_t>(k), static_cast<index_t>(restarts),
                                          starts.data(), max_iter, record, labels.data(), norms.data(), threads);
    });
    nb::list ends;
    for (const auto& run : runs) ends.append(nb::make_tuple(run.inertia, run.n_iter, run.converged, run.inertias));
    return nb::make_tuple(own(std::move(labels), restarts, rows), own(std::move(norms), restarts, k), ends);
}

nb::tuple kernel_k_means_bound(const Array2<const double>& gram, const Weights& weights,
                               const Array2<const std::int64_t>& starts, index_t max_iter, bool record, int threads) {
    const auto g = view(gram);
    require(g.rows > 0 && g.rows == g.cols, "kernel_k_means", "the kernel matrix must be square and not empty");
    return kernel_k_means_from("kernel_k_means", g.rows, weights, starts, max_iter, record, threads,
                               [&] { return clustering::KernelLines(g); });
}

nb::tuple gaussian_k_means_bound(const Array2<const double>& rows, double gamma, const Weights& weights,
                                 const Array2<const std::int64_t>& starts, index_t max_iter, bool record, int threads) {
    const auto x = view(rows);
    require(x.rows > 0 && x.cols > 0, "gaussian_k_means", "rows must not be empty");
    require(gamma > 0.0, "gaussian_k_means", "gamma must be above 0");
    return kernel_k_means_from("gaussian_k_means", x.rows, weights, starts, max_iter, record, threads,
                               [&] { return clustering::KernelLines(x, gamma, threads); });
}

// Labels of the nearest centres and how far they are, by `search(rows, centres, labels, distances)`.
template <class T, class Search>
nb::tuple nearest_bound(const char* who, const Array2<const T>& rows, const Array2<const double>& centres, Search&& search) {
    const auto x = view(rows);
    const auto c = view(centres);
    require(c.rows > 0 && c.cols == x.cols, who, "centres must have the columns of rows");
    std::vector<std::int32_t> labels(static_cast<std::size_t>(x.rows));
    std::vector<double> distances(labels.size());
    if (x.rows > 0) without_gil([&] { search(x, c, labels.data(), distances.data()); });
    return nb::make_tuple(own(std::move(labels)), own(std::move(distances)));
}

template <class T>
nb::tuple nearest_centres_bound(const Array2<const T>& rows, const Array2<const double>& centres, int threads) {
    return nearest_bound("nearest_centres", rows, centres, [&](auto x, auto c, std::int32_t* labels, double* squared) {
        clustering::nearest_centres(x, c, labels, squared, threads);
    });
}

nb::tuple nearest_medians_bound(const Array2<const double>& rows, const Array2<const double>& centres, int threads) {
    return nearest_bound("nearest_medians", rows, centres, [&](auto x, auto c, std::int32_t* labels, double* distances) {
        clustering::nearest_medians(x, c, labels, distances, threads);
    });
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

neighbours::Metric metric_of(int code, const char* who) {
    require(code >= 0 && code < neighbours::metric_count, who, "unknown metric");
    return static_cast<neighbours::Metric>(code);
}

nb::tuple dbscan_bound(const Array2<const double>& rows, const Weights& weights, int metric, double reach, double least,
                       int threads) {
    const char* who = "dbscan";
    const auto x = view(rows);
    require(x.rows > 0 && x.cols > 0 && x.rows < (index_t{1} << 31), who, "rows must not be empty nor beyond 2^31");
    const auto kind = metric_of(metric, who);
    const double* const w = weights_of(weights, x.rows, who);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(x.rows));
    std::vector<std::uint8_t> core(labels.size());
    without_gil([&] { clustering::dbscan(x, w, kind, reach, least, labels.data(), core.data(), threads); });
    return nb::make_tuple(own(std::move(labels)), own(std::move(core)));
}

Result2<double> tree_hierarchy(const Array2<const double>& rows, const Weights& core, int metric, double p, bool boxes,
                               int threads) {
    const char* who = "spanning_hierarchy";
    const auto x = view(rows);
    require(x.rows > 0 && x.cols > 0 && x.rows < (index_t{1} << 30), who, "rows must not be empty nor beyond 2^30");
    const auto kind = metric_of(metric, who);
    require(!boxes || kind == neighbours::Metric::euclidean, who, "boxes need Euclidean distances");
    const double* const c = weights_of(core, x.rows, who);
    std::vector<double> z;
    without_gil([&] {
        const auto edges =
            boxes ? clustering::boruvka_tree(x, c, threads) : clustering::prim_tree(x, kind, p, c, threads);
        z.resize(static_cast<std::size_t>(4 * (x.rows - 1)));  // once what the tree needed is gone
        if (!interrupted()) clustering::hierarchy_of_tree(edges, z.data());
    });
    return own(std::move(z), static_cast<std::size_t>(x.rows - 1), 4);
}

nb::tuple hdbscan_bound(const Array2<const double>& z, index_t least, bool leaves, bool single) {
    const auto merges = view(z);
    const index_t n = merges.rows + 1;
    require(merges.rows > 0 && merges.cols == 4 && least >= 2, "hdbscan_labels", "z must be (n - 1) x 4, min_size >= 2");
    for (index_t t = 0; t < merges.rows; ++t)
        for (index_t side = 0; side < 2; ++side)
            require(merges(t, side) >= 0 && merges(t, side) < static_cast<double>(n + t), "hdbscan_labels",
                    "z must join clusters that exist");
    std::vector<std::int32_t> labels(static_cast<std::size_t>(n), -1);
    std::vector<double> probabilities(labels.size());
    auto stability = without_gil([&] {
        return clustering::hdbscan_labels(merges.data, n, least, leaves, single, labels.data(), probabilities.data());
    });
    return nb::make_tuple(own(std::move(labels)), own(std::move(probabilities)), own(std::move(stability)));
}

Result2<double> linkage_bound(const Array2<double>& square, int linkage) {
    const auto cells = view(square);
    require(cells.rows == cells.cols && cells.rows > 0, "matrix_linkage", "the square must be one");
    require(linkage >= 0 && linkage < 6, "matrix_linkage", "unknown linkage");
    std::vector<double> z(static_cast<std::size_t>(4 * (cells.rows - 1)));
    without_gil([&] {
        clustering::matrix_linkage(cells.data, cells.rows, static_cast<clustering::Linkage>(linkage), z.data());
    });
    return own(std::move(z), static_cast<std::size_t>(cells.rows - 1), 4);
}

Result2<double> rows_linkage_bound(const Array2<const double>& rows, int metric, double p, int linkage, int threads) {
    const auto x = view(rows);
    const auto kind = metric_of(metric, "rows_linkage");
    require(x.rows > 0 && x.cols > 0, "rows_linkage", "rows must not be empty");
    require(linkage >= 0 && linkage < 3, "rows_linkage", "the linkage must be complete, average or weighted");
    std::vector<double> z(static_cast<std::size_t>(4 * (x.rows - 1)));
    without_gil([&] {
        clustering::rows_linkage(x, kind, p, static_cast<clustering::Linkage>(linkage), z.data(), threads);
    });
    return own(std::move(z), static_cast<std::size_t>(x.rows - 1), 4);
}

Result2<double> square_bound(const Array2<const double>& rows, int metric, double p, bool squared, int threads) {
    const auto x = view(rows);
    const auto kind = metric_of(metric, "distance_square");
    const auto n = static_cast<std::size_t>(x.rows);
    double* const square = LargePages<double>().allocate(n * n);
    nb::capsule owner(square, [](void* held) noexcept { std::free(held); });
    without_gil([&] { clustering::fill_square(x, kind, p, squared, square, threads); });
    return Result2<double>(square, {n, n}, owner);
}

Result2<double> ward_bound(const Array2<const double>& rows, int threads) {
    const auto x = view(rows);
    require(x.rows > 0 && x.cols > 0, "ward_linkage", "rows must not be empty");
    std::vector<double> z(static_cast<std::size_t>(4 * (x.rows - 1)));
    without_gil([&] { clustering::ward_linkage(x, z.data(), threads); });
    return own(std::move(z), static_cast<std::size_t>(x.rows - 1), 4);
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
    m.def("k_medians", &k_medians_bound, "rows"_a, "weights"_a.none(), "starts"_a, "max_iter"_a, "record"_a, "threads"_a,
          "Centres, labels and ends of k-medians from each start.");
    m.def("nearest_medians", &nearest_medians_bound, "rows"_a, "centres"_a, "threads"_a,
          "The nearest centre of each row by Manhattan distance, and that distance.");
    m.def("kernel_k_means", &kernel_k_means_bound, "gram"_a.noconvert(), "weights"_a.none(), "starts"_a, "max_iter"_a,
          "record"_a, "threads"_a, "Labels, norms of the means and ends of kernel k-means from each start.");
    m.def("gaussian_k_means", &gaussian_k_means_bound, "rows"_a, "gamma"_a, "weights"_a.none(), "starts"_a, "max_iter"_a,
          "record"_a, "threads"_a, "The same under the Gaussian kernel of rows, without its matrix.");
    m.def("dbscan", &dbscan_bound, "rows"_a, "weights"_a.none(), "metric"_a, "reach"_a, "min_weight"_a, "threads"_a,
          "Labels of DBSCAN (-1 for noise) and which rows are core.");
    m.def("spanning_hierarchy", &tree_hierarchy, "rows"_a, "core"_a.none(), "metric"_a, "p"_a, "boxes"_a, "threads"_a,
          "Single linkage by a minimum spanning tree, of distances or of mutual reachability.");
    m.def("hdbscan_labels", &hdbscan_bound, "z"_a, "min_size"_a, "leaves"_a, "allow_single"_a,
          "Labels, probabilities and stabilities of HDBSCAN from a hierarchy.");
    m.def("matrix_linkage", &linkage_bound, "square"_a.noconvert(), "linkage"_a,
          "Merges of a square of distances, which is destroyed.");
    m.def("distance_square", &square_bound, "rows"_a, "metric"_a, "p"_a, "squared"_a, "threads"_a,
          "All distances of rows as a square.");
    m.def("rows_linkage", &rows_linkage_bound, "rows"_a, "metric"_a, "p"_a, "linkage"_a, "threads"_a,
          "Merges by complete, average or weighted linkage, from rows, whose distances are made when they are asked for.");
    m.def("ward_linkage", &ward_bound, "rows"_a, "threads"_a, "Merges by Ward's method, from the clusters' means.");
}

}  // namespace assay::bindings
