// Graphs: communities, filters of eigenvectors.
#include "assay/graphs/chebyshev.hpp"
#include "assay/graphs/communities.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using Starts = Array1<const std::int64_t>;
using Targets = Array1<const std::int32_t>;
using Numbers = Array1<const double>;

graphs::Csr graph_of(const Starts& start, const Targets& to, const Numbers& weight, const char* who) {
    const auto s = view(start);
    const auto t = view(to);
    require(s.size > 0 && s[0] == 0, who, "starts must begin with 0");
    const index_t n = s.size - 1;
    for (index_t i = 0; i < n; ++i) require(s[i] <= s[i + 1], who, "starts must rise");
    require(s[n] == t.size && static_cast<index_t>(weight.shape(0)) == t.size, who, "as many targets and weights as edges");
    for (index_t e = 0; e < t.size; ++e) require(t[e] >= 0 && t[e] < n, who, "a target is out of range");
    return {n, s.data, t.data, weight.data()};
}

}  // namespace

void bind_graphs(nb::module_& m) {
    m.def(
        "communities",
        [](const Starts& start, const Targets& to, const Numbers& weight, double resolution, bool refine, index_t rounds,
           std::uint64_t key, int threads) {
            const auto graph = graph_of(start, to, weight, "communities");
            std::vector<std::int32_t> labels(static_cast<std::size_t>(graph.n));
            auto found = without_gil([&] {
                return graphs::communities(graph, {resolution, refine, rounds, key, threads}, labels.data());
            });
            return nb::make_tuple(own(std::move(labels)), own(std::move(found)));
        },
        "start"_a, "to"_a, "weight"_a, "resolution"_a, "refine"_a, "rounds"_a, "key"_a, "threads"_a,
        "Communities by Louvain or Leiden, and the modularity of each level.");
    m.def(
        "is_plain_graph",
        [](const Starts& start, const Targets& to, const Numbers& weight) {
            const auto graph = graph_of(start, to, weight, "is_plain_graph");
            return without_gil([&] { return graphs::is_plain_graph(graph); });
        },
        "start"_a, "to"_a, "weight"_a, "Whether a matrix is symmetric and positive, without loops, its targets rising.");
    m.def(
        "modularity",
        [](const Starts& start, const Targets& to, const Numbers& weight, const Targets& labels, double resolution) {
            const auto graph = graph_of(start, to, weight, "modularity");
            const auto l = view(labels);
            require(l.size == graph.n, "modularity", "one label per node");
            for (index_t i = 0; i < l.size; ++i)
                require(l[i] >= 0 && l[i] < std::max<index_t>(1, graph.n), "modularity", "labels must lie in 0..n-1");
            return without_gil([&] { return graphs::modularity(graph, l.data, resolution); });
        },
        "start"_a, "to"_a, "weight"_a, "labels"_a, "resolution"_a, "Modularity of a partition.");
    m.def(
        "chebyshev_filter",
        [](const Starts& start, const Targets& to, const Numbers& weight, const Array2<double>& block, double low,
           double cut, index_t degree, int threads) {
            const auto matrix = graph_of(start, to, weight, "chebyshev_filter");
            const auto cells = view(block);
            require(cells.rows == matrix.n && cells.cols % 8 == 0, "chebyshev_filter",
                    "the block must have one row per row of the matrix and a multiple of 8 columns");
            without_gil([&] {
                graphs::chebyshev_filter(matrix, cells.data, cells.cols, low, cut, degree, threads);
            });
        },
        "start"_a, "to"_a, "weight"_a, "block"_a.noconvert(), "low"_a, "cut"_a, "degree"_a, "threads"_a,
        "Filters a block of vectors, in place, by a Chebyshev polynomial of a sparse symmetric matrix.");
}

}  // namespace assay::bindings
