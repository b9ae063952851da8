#include "assay/graphs/communities.hpp"

#include <vector>

#include "check.hpp"

using namespace assay;

TEST("two cliques joined by an edge are two communities, by Louvain and by Leiden") {
    const index_t half = 6, n = 2 * half;
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> to;
    for (index_t i = 0; i < n; ++i) {
        for (index_t j = 0; j < n; ++j)
            if (j != i && (i / half == j / half || (i == half - 1 && j == half) || (i == half && j == half - 1)))
                to.push_back(static_cast<std::int32_t>(j));
        start.push_back(static_cast<std::int64_t>(to.size()));
    }
    const std::vector<double> weight(to.size(), 1.0);
    const graphs::Csr graph{n, start.data(), to.data(), weight.data()};
    for (const bool refine : {false, true}) {
        std::vector<std::int32_t> labels(static_cast<std::size_t>(n));
        const auto found = graphs::communities(graph, {1.0, refine, 5, 3}, labels.data());
        for (index_t i = 0; i < n; ++i) CHECK(labels[static_cast<std::size_t>(i)] == i / half);
        CHECK_NEAR(found.back(), graphs::modularity(graph, labels.data(), 1.0), 1e-12);
        CHECK_NEAR(found.back(), 60.0 / 62.0 - 0.5, 1e-12);
    }
}
