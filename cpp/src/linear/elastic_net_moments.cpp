#include <algorithm>

#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay::elastic_net {

MomentDesign::MomentDesign(const std::vector<ElasticNetMoments>& moments, index_t columns) : moments_(moments) {
    p = columns;
    problems = static_cast<index_t>(moments.size());
}

double MomentDesign::y_squares(index_t problem) const { return moments_[at(problem)].y_squares; }
const double* MomentDesign::cross(index_t problem) const { return moments_[at(problem)].cross; }

void MomentDesign::block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
                         int threads) const {
    const double* gram = moments_[at(problem)].gram;
    const auto m = static_cast<index_t>(columns.size());
    parallel_chunks(m, 64, threads_for(static_cast<double>(m * m), threads), [&](index_t, index_t begin, index_t end) {
        for (index_t a = begin; a < end; ++a) {
            const double* row = gram + columns[at(a)] * p;
            for (index_t b = a < first ? first : 0; b < m; ++b) block.set(a, b, row[columns[at(b)]]);
        }
    });
}

void MomentDesign::refresh(std::vector<Request>& requests, const double*, bool, int threads) {
    parallel_chunks(static_cast<index_t>(requests.size()), 1, threads, [&](index_t k, index_t, index_t) {
        const Request& request = requests[at(k)];
        const ElasticNetMoments& moments = moments_[at(request.problem)];
        std::vector<double>& g = request.gradient.value;
        std::copy(moments.cross, moments.cross + p, g.begin());
        const auto m = static_cast<index_t>(request.support.columns.size());
        for (index_t a = 0; a < m; ++a)
            if (request.support.values[at(a)] != 0)
                add_multiple(-request.support.values[at(a)], moments.gram + request.support.columns[at(a)] * p, g.data(),
                             p);
        double explained = 0;
        for (index_t a = 0; a < m; ++a) {
            const index_t j = request.support.columns[at(a)];
            explained += request.support.values[at(a)] * (moments.cross[j] + g[at(j)]);
        }
        request.gradient.residual_squares = std::max(0.0, moments.y_squares - explained);
    });
}

}  // namespace assay::elastic_net
