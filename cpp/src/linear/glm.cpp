#include "assay/linear/glm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/threads.hpp"
#include "assay/losses/registry.hpp"
#include "tiles.hpp"

namespace assay {
namespace {

// One tile: packed rows and what the policies make of them.
struct Tile {
    index_t width;
    std::vector<double> z, weighted;
    double eta[tile_rows], y[tile_rows], weight[tile_rows], gradient[tile_rows], curvature[tile_rows];
    double mu[tile_rows], rest[tile_rows], first[tile_rows], second[tile_rows];
    double loss[tile_rows], pearson[tile_rows], miss[tile_rows], outside[tile_rows], replaced[tile_rows];
    explicit Tile(index_t columns)
        : width(padded(columns)), z(static_cast<std::size_t>(tile_rows * width)), weighted(z.size()) {}
};

// The size and place of each sum of a chunk; level L is the place where rows without a level go.
struct Layout {
    index_t width, levels, columns;
    std::vector<index_t> pair_starts;  // cross table of columns a < b, in order (0,1), (0,2), ..., (1,2), ...
    index_t pair_cells = 0;
    explicit Layout(const GlmProblem& problem)
        : width(padded(problem.dense())), levels(problem.levels()), columns(problem.codes.cols) {
        for (index_t a = 0; a < columns; ++a)
            for (index_t b = a + 1; b < columns; ++b) {
                pair_starts.push_back(pair_cells);
                pair_cells += (size(problem, a) + 1) * (size(problem, b) + 1);
            }
    }
    static index_t size(const GlmProblem& problem, index_t c) { return problem.starts[c + 1] - problem.starts[c]; }
    // Position of a level within its column; the last one is "no level".
    static index_t local(const GlmProblem& problem, index_t c, index_t level, index_t levels) {
        return level == levels ? size(problem, c) : level - problem.starts[c];
    }
    index_t cells(bool with_hessian) const {
        const index_t gradient = width + levels + 1;
        return with_hessian ? gradient + width * width + (levels > 0 ? (levels + 1) * (width + 1) : 0) + pair_cells
                            : gradient;
    }
};

struct ChunkSums {
    double loss = 0.0, pearson = 0.0, worst = 0.0, outside = 0.0, replaced = 0.0;
    std::vector<double> gradient, by_level, dense, histogram, mixed, pairs;

    void prepare(const Layout& layout, bool with_hessian) {
        const auto room = [](std::vector<double>& v, index_t n) { v.assign(static_cast<std::size_t>(n), 0.0); };
        loss = pearson = worst = outside = replaced = 0.0;
        room(gradient, layout.width);
        room(by_level, layout.levels + 1);
        if (!with_hessian) return;
        room(dense, layout.width * layout.width);
        room(histogram, layout.levels + 1);
        if (layout.levels > 0) room(mixed, (layout.levels + 1) * layout.width);
        room(pairs, layout.pair_cells);
    }
    void add(const ChunkSums& part) {
        const auto merge = [](std::vector<double>& into, const std::vector<double>& from) {
            for (std::size_t i = 0; i < from.size(); ++i) into[i] += from[i];
        };
        loss += part.loss;
        pearson += part.pearson;
        worst = std::max(worst, part.worst);
        outside += part.outside;
        replaced += part.replaced;
        merge(gradient, part.gradient);
        merge(by_level, part.by_level);
        merge(dense, part.dense);
        merge(histogram, part.histogram);
        merge(mixed, part.mixed);
        merge(pairs, part.pairs);
    }
};

struct PassArguments {
    const GlmProblem& problem;
    const Layout& layout;
    const double* dense;   // width values
    const double* levels;  // levels + 1 values, the last one 0
    GlmCurvature curvature;
};

ASSAY_INLINE void pack(const GlmProblem& problem, index_t begin, index_t end, Tile& tile) {
    const index_t p = problem.x.cols, width = tile.width;
    const double* const centre = problem.centre.data;
    const double* const inverse_scale = problem.inverse_scale.data;
    for (index_t i = begin; i < end; ++i) {
        const index_t row = problem.row(i), t = i - begin;
        const double* const x = problem.x.row(row);
        double* const z = tile.z.data() + t * width;
        for (index_t j = 0; j < p; ++j) z[j] = (x[j] - centre[j]) * inverse_scale[j];
        if (problem.intercept) z[p] = 1.0;
        tile.y[t] = problem.y[row];
        tile.weight[t] = problem.weights.empty() ? 1.0 : problem.weights[row];
    }
    // Rows past the end repeat the first row's target and predictor with weight 0, so that they are in range.
    for (index_t t = end - begin; t < tile_rows; ++t) {
        std::copy_n(tile.z.data(), width, tile.z.data() + t * width);
        tile.y[t] = tile.y[0];
        tile.weight[t] = 0.0;
    }
}

// eta of the tile: dense part, offset, and the coefficients of the codes.
template <int W>
ASSAY_INLINE void predictor(const PassArguments& with, index_t begin, index_t end, Tile& tile) {
    const GlmProblem& problem = with.problem;
    dot_tile<W>(tile.z.data(), tile.width, with.dense, tile.eta);
    if (!problem.offset.empty())
        for (index_t i = begin; i < end; ++i) tile.eta[i - begin] += problem.offset[problem.row(i)];
    if (problem.codes.cols > 0)
        for (index_t i = begin; i < end; ++i) {
            const std::int32_t* const codes = problem.codes.row(problem.row(i));
            for (index_t c = 0; c < problem.codes.cols; ++c) tile.eta[i - begin] += with.levels[codes[c]];
        }
    for (index_t t = end - begin; t < tile_rows; ++t) tile.eta[t] = tile.eta[0];
}

template <class Link>
ASSAY_INLINE void link_tile(Tile& tile) {
    for (index_t t = 0; t < tile_rows; ++t) {
        const losses::Mean mean = Link::at(tile.eta[t]);
        tile.mu[t] = mean.mu;
        tile.rest[t] = mean.rest;
        tile.first[t] = mean.first;
        tile.second[t] = mean.second;
    }
}

template <class Family>
ASSAY_INLINE void family_tile(Tile& tile, double parameter, GlmCurvature kind) {
    const bool newton = kind == GlmCurvature::newton, always = kind == GlmCurvature::observed;
    for (index_t t = 0; t < tile_rows; ++t) {
        const losses::Mean mean{tile.mu[t], tile.rest[t], tile.first[t], tile.second[t]};
        const losses::Deviance terms = Family::deviance(tile.y[t], mean, parameter);
        const losses::Chained chained = losses::chain(mean, terms);
        const double weight = tile.weight[t], fisher = chained.fisher, observed = chained.observed;
        tile.loss[t] = weight * terms.half_deviance;
        tile.gradient[t] = weight * chained.gradient;
        tile.curvature[t] = weight * (always || (newton && observed > 0.0) ? observed : fisher);
        tile.pearson[t] = weight * terms.residual * terms.residual * chained.inverse_variance;
        tile.miss[t] = weight > 0.0 ? std::abs(terms.residual) : 0.0;
        tile.replaced[t] = newton && weight > 0.0 && !(observed > 0.0) ? 1.0 : 0.0;
        tile.outside[t] = weight > 0.0 && !(terms.inside > 0.0) ? 1.0 : 0.0;
    }
}

ASSAY_INLINE void apply_policies(const GlmProblem& problem, Tile& tile, GlmCurvature kind) {
    switch (problem.link) {
        case GlmLink::identity: link_tile<losses::Identity>(tile); break;
        case GlmLink::log: link_tile<losses::Log>(tile); break;
        case GlmLink::logit: link_tile<losses::Logit>(tile); break;
        case GlmLink::probit: link_tile<losses::Probit>(tile); break;
        case GlmLink::cloglog: link_tile<losses::Cloglog>(tile); break;
        case GlmLink::inverse: link_tile<losses::Inverse>(tile); break;
        case GlmLink::inverse_squared: link_tile<losses::InverseSquared>(tile); break;
        case GlmLink::sqrt: link_tile<losses::Sqrt>(tile); break;
        case GlmLink::count: break;
    }
    const double parameter = problem.parameter;
    switch (problem.family) {
        case GlmFamily::gaussian: family_tile<losses::SquaredError>(tile, parameter, kind); break;
        case GlmFamily::bernoulli: family_tile<losses::LogLoss>(tile, parameter, kind); break;
        case GlmFamily::poisson: family_tile<losses::Poisson>(tile, parameter, kind); break;
        case GlmFamily::gamma: family_tile<losses::Gamma>(tile, parameter, kind); break;
        case GlmFamily::inverse_gaussian: family_tile<losses::InverseGaussian>(tile, parameter, kind); break;
        case GlmFamily::tweedie: family_tile<losses::Tweedie>(tile, parameter, kind); break;
        case GlmFamily::negative_binomial: family_tile<losses::NegativeBinomial>(tile, parameter, kind); break;
        case GlmFamily::count: break;
    }
}

// The sums by code of a tile.
ASSAY_INLINE void add_levels(const PassArguments& with, index_t begin, index_t end, const Tile& tile, ChunkSums& sums) {
    const GlmProblem& problem = with.problem;
    const Layout& layout = with.layout;
    const index_t width = layout.width, columns = layout.columns;
    for (index_t i = begin; i < end; ++i) {
        const std::int32_t* const codes = problem.codes.row(problem.row(i));
        const index_t t = i - begin;
        for (index_t c = 0; c < columns; ++c) sums.by_level[static_cast<std::size_t>(codes[c])] += tile.gradient[t];
        if (with.curvature == GlmCurvature::none) continue;
        const double curvature = tile.curvature[t];
        const double* const weighted = tile.weighted.data() + t * width;
        std::size_t pair = 0;
        for (index_t a = 0; a < columns; ++a) {
            sums.histogram[static_cast<std::size_t>(codes[a])] += curvature;
            double* const mixed = sums.mixed.data() + codes[a] * width;
            for (index_t j = 0; j < width; ++j) mixed[j] += weighted[j];
            const index_t at = Layout::local(problem, a, codes[a], layout.levels);
            for (index_t b = a + 1; b < columns; ++b, ++pair)
                sums.pairs[static_cast<std::size_t>(layout.pair_starts[pair] + at * (Layout::size(problem, b) + 1) +
                                                    Layout::local(problem, b, codes[b], layout.levels))] += curvature;
        }
    }
}

template <int W, int MR, int NV>
ASSAY_INLINE void pass_chunk_body(const PassArguments& with, index_t begin, index_t end, Tile& tile, ChunkSums& sums) {
    const index_t width = tile.width;
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t last = std::min(end, first + tile_rows);
        pack(with.problem, first, last, tile);
        predictor<W>(with, first, last, tile);
        apply_policies(with.problem, tile, with.curvature);
        sums.loss += sum_tile(tile.loss);
        sums.pearson += sum_tile(tile.pearson);
        sums.outside += sum_tile(tile.outside);
        sums.replaced += sum_tile(tile.replaced);
        sums.worst = std::max(sums.worst, *std::max_element(tile.miss, tile.miss + tile_rows));
        multiply<W, 1, 4>(tile.gradient, 1, 1, tile.z.data(), width, sums.gradient.data(), width, 1, width, tile_rows,
                          false);
        if (with.curvature != GlmCurvature::none)
            add_sandwich<W, MR, NV>(tile.z.data(), width, tile.curvature, tile.weighted.data(), sums.dense.data());
        if (with.layout.columns > 0) add_levels(with, first, last, tile, sums);
    }
}
ASSAY_DISPATCH_BLOCKED(pass_chunk, pass_chunk_body,
                       (const PassArguments& with, index_t begin, index_t end, Tile& tile, ChunkSums& sums),
                       (with, begin, end, tile, sums))

struct RowArguments {
    const GlmProblem& problem;
    Vector<const double> eta;
    GlmCurvature curvature;
    double* gradient;
    double* curvatures;
};

ASSAY_INLINE void rows_chunk_body(const RowArguments& with, index_t begin, index_t end, Tile& tile, ChunkSums& sums) {
    const GlmProblem& problem = with.problem;
    for (index_t first = begin; first < end; first += tile_rows) {
        const index_t last = std::min(end, first + tile_rows);
        for (index_t t = 0; t < tile_rows; ++t) {
            const bool inside = first + t < last;
            const index_t i = inside ? first + t : first;
            tile.eta[t] = with.eta[i];
            tile.y[t] = problem.y[i];
            tile.weight[t] = !inside ? 0.0 : problem.weights.empty() ? 1.0 : problem.weights[i];
        }
        apply_policies(problem, tile, with.curvature);
        sums.loss += sum_tile(tile.loss);
        sums.pearson += sum_tile(tile.pearson);
        sums.outside += sum_tile(tile.outside);
        sums.replaced += sum_tile(tile.replaced);
        sums.worst = std::max(sums.worst, *std::max_element(tile.miss, tile.miss + tile_rows));
        std::copy_n(tile.gradient, last - first, with.gradient + first);
        if (with.curvature != GlmCurvature::none) std::copy_n(tile.curvature, last - first, with.curvatures + first);
    }
}
ASSAY_DISPATCH(void, rows_chunk, rows_chunk_body,
               (const RowArguments& with, index_t begin, index_t end, Tile& tile, ChunkSums& sums),
               (with, begin, end, tile, sums))

// The full symmetric matrix over [dense, levels] from the sums by block.
void assemble(const GlmProblem& problem, const Layout& layout, const ChunkSums& sums, double* hessian) {
    const index_t m = problem.dense(), n = problem.unknowns(), levels = layout.levels, width = layout.width;
    std::fill_n(hessian, n * n, 0.0);
    const auto set = [&](index_t i, index_t j, double value) { hessian[i * n + j] = hessian[j * n + i] = value; };
    for (index_t i = 0; i < m; ++i)
        for (index_t j = 0; j <= i; ++j) set(i, j, sums.dense[static_cast<std::size_t>(i * width + j)]);
    for (index_t l = 0; l < levels; ++l) {
        set(m + l, m + l, sums.histogram[static_cast<std::size_t>(l)]);
        for (index_t j = 0; j < m; ++j) set(m + l, j, sums.mixed[static_cast<std::size_t>(l * width + j)]);
    }
    std::size_t pair = 0;
    for (index_t a = 0; a < layout.columns; ++a)
        for (index_t b = a + 1; b < layout.columns; ++b, ++pair) {
            const index_t rows = Layout::size(problem, a), columns = Layout::size(problem, b);
            const double* const table = sums.pairs.data() + layout.pair_starts[pair];
            for (index_t i = 0; i < rows; ++i)
                for (index_t j = 0; j < columns; ++j)
                    set(m + problem.starts[a] + i, m + problem.starts[b] + j, table[i * (columns + 1) + j]);
        }
}

ASSAY_INLINE void add_scaled_body(double* from, const double* row, double factor, index_t n) {
    for (index_t j = 0; j < n; ++j) from[j] += factor * row[j];
}
ASSAY_DISPATCH(void, add_scaled, add_scaled_body, (double* from, const double* row, double factor, index_t n),
               (from, row, factor, n))

}  // namespace

GlmSums glm_pass(const GlmProblem& problem, const double* coefficients, GlmCurvature curvature, double* gradient,
                 double* hessian, int threads) {
    const bool with_hessian = curvature != GlmCurvature::none;
    const index_t n = problem.row_count(), m = problem.dense();
    if (problem.sparse()) {
        std::vector<double> curvatures(with_hessian ? static_cast<std::size_t>(n) : 0);
        const GlmSums sums = sparse_glm_pass(problem, coefficients, curvature, gradient, curvatures.data(), threads);
        if (with_hessian) problem.sparse_columns().gram({curvatures.data(), n}, c_matrix(hessian, m, m), threads);
        return sums;
    }
    const Layout layout(problem);
    std::vector<double> dense(static_cast<std::size_t>(layout.width), 0.0),
        levels(static_cast<std::size_t>(layout.levels + 1), 0.0);
    std::copy_n(coefficients, m, dense.data());
    std::copy_n(coefficients + m, layout.levels, levels.data());
    const PassArguments with{problem, layout, dense.data(), levels.data(), curvature};
    const index_t grain = chunk_grain(n, layout.cells(with_hessian));
    // Some chunks at a time, whose sums stay in the cache and are added in the order of the chunks.
    const index_t at_once = std::max<index_t>(16, 2 * threads);
    std::vector<ChunkSums> parts(static_cast<std::size_t>(std::min(at_once, chunk_count(n, grain))));
    ChunkSums total;
    total.prepare(layout, with_hessian);
    const index_t operations = (with_hessian ? layout.width * layout.width / 2 : 0) + 4 * layout.width + 128;
    for (index_t first = 0; first < n; first += at_once * grain) {
        const index_t rows = std::min(n - first, at_once * grain);
        parallel_chunks(rows, grain, pass_threads(n, operations, threads), [&](index_t c, index_t begin, index_t end) {
            ChunkSums& sums = parts[static_cast<std::size_t>(c)];
            sums.prepare(layout, with_hessian);
            Tile tile(m);
            pass_chunk(with, first + begin, first + end, tile, sums);
        });
        for (index_t c = 0; c < chunk_count(rows, grain); ++c) {
            const ChunkSums& part = parts[static_cast<std::size_t>(c)];
            if (!part.by_level.empty()) total.add(part);  // empty: interrupted, and the result will not be used
        }
    }
    std::copy_n(total.gradient.data(), m, gradient);
    std::copy_n(total.by_level.data(), layout.levels, gradient + m);
    if (with_hessian) assemble(problem, layout, total, hessian);
    const bool valid = total.outside == 0.0 && std::isfinite(total.loss);
    return {valid ? total.loss : std::numeric_limits<double>::infinity(), total.pearson, total.worst,
            total.replaced};
}

GlmSums sparse_glm_pass(const GlmProblem& problem, const double* coefficients, GlmCurvature curvature, double* gradient,
                        double* curvatures, int threads) {
    const index_t n = problem.row_count(), m = problem.dense();
    const SparseColumns z = problem.sparse_columns();
    std::vector<double> eta(static_cast<std::size_t>(n)), residuals(eta.size());
    z.product(c_matrix(coefficients, 1, m), c_matrix(eta.data(), n, 1), threads);
    for (index_t i = 0; i < problem.offset.size; ++i) eta[static_cast<std::size_t>(i)] += problem.offset[i];
    const GlmSums sums = glm_rows(problem, {eta.data(), n}, curvature, residuals.data(), curvatures, threads);
    z.transposed_product(c_matrix<const double>(residuals.data(), n, 1), c_matrix(gradient, 1, m), threads);
    return sums;
}

GlmSums glm_rows(const GlmProblem& problem, Vector<const double> eta, GlmCurvature curvature, double* gradient,
                 double* curvatures, int threads) {
    const RowArguments with{problem, eta, curvature, gradient, curvatures};
    constexpr index_t grain = 4096;
    std::vector<ChunkSums> parts(static_cast<std::size_t>(chunk_count(eta.size, grain)));
    parallel_chunks(eta.size, grain, threads, [&](index_t c, index_t begin, index_t end) {
        Tile tile(0);
        rows_chunk(with, begin, end, tile, parts[static_cast<std::size_t>(c)]);
    });
    ChunkSums total;
    for (const ChunkSums& part : parts) total.add(part);
    const bool valid = total.outside == 0.0 && std::isfinite(total.loss);
    return {valid ? total.loss : std::numeric_limits<double>::infinity(), total.pearson, total.worst,
            total.replaced};
}

index_t penalised_quadratic(Matrix<const double> hessian, const double* gradient, const double* l1, double tol,
                            index_t max_sweeps, double* x) {
    const index_t n = hessian.rows;
    std::vector<double> slope(gradient, gradient + n);  // of the quadratic at the current x
    std::vector<char> live(static_cast<std::size_t>(n), 1);
    bool everything = true;
    index_t sweep = 0;
    while (sweep < max_sweeps) {
        ++sweep;
        double largest = 0.0;
        for (index_t j = 0; j < n; ++j) {
            if (!everything && !live[static_cast<std::size_t>(j)]) continue;
            const double bend = hessian(j, j);
            if (!(bend > 0.0)) continue;
            const double target = bend * x[j] - slope[static_cast<std::size_t>(j)];
            const double size = std::abs(target) - l1[j];
            const double to = size > 0.0 ? std::copysign(size, target) / bend : 0.0, step = to - x[j];
            live[static_cast<std::size_t>(j)] = to != 0.0;
            if (step == 0.0) continue;
            x[j] = to;
            largest = std::max(largest, bend * std::abs(step));
            add_scaled(slope.data(), hessian.row(j), step, n);
        }
        if (largest <= tol) {
            if (everything) break;
            everything = true;
        } else {
            everything = false;
        }
        if ((sweep & 63) == 0 && interrupted()) break;
    }
    return sweep;
}

}  // namespace assay
