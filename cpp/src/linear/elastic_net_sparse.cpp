#include <algorithm>
#include <cmath>

#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"

namespace assay::elastic_net {
namespace {

constexpr index_t widest = 8;  // right-hand sides that share one read of a column: a cache line of them

// sums[s] = sum over the stored cells of a column of x_i side[i * S + s]. Two running sums for each side, added at the
// end: the value of a side does not depend on how many others share the read.
template <int S>
void column_products(const SparseMatrix& columns, index_t j, const double* sides, double* sums) {
    double even[S] = {}, odd[S] = {};
    index_t k = columns.begin(j);
    const index_t end = columns.end(j);
    for (; k + 2 <= end; k += 2) {
        const double* const first = sides + index_t{columns.indices[k]} * S;
        const double* const second = sides + index_t{columns.indices[k + 1]} * S;
        for (int s = 0; s < S; ++s) even[s] += columns.values[k] * first[s];
        for (int s = 0; s < S; ++s) odd[s] += columns.values[k + 1] * second[s];
    }
    if (k < end)
        for (int s = 0; s < S; ++s) even[s] += columns.values[k] * sides[index_t{columns.indices[k]} * S + s];
    for (int s = 0; s < S; ++s) sums[s] = even[s] + odd[s];
}

void products(const SparseMatrix& columns, index_t j, const double* sides, index_t width, double* sums) {
    if (width == 1) column_products<1>(columns, j, sides, sums);
    else if (width == 2) column_products<2>(columns, j, sides, sums);
    else if (width == 4) column_products<4>(columns, j, sides, sums);
    else column_products<8>(columns, j, sides, sums);
}

index_t room_for(index_t count) { return count <= 1 ? 1 : count <= 2 ? 2 : count <= 4 ? 4 : widest; }

// Vectors of length n side by side, groups of at most `widest`; each group has its own width.
struct Sides {
    index_t n, count;
    std::vector<std::vector<double>> groups;

    Sides(index_t length, const std::vector<const double*>& vectors)
        : n(length), count(static_cast<index_t>(vectors.size())) {
        for (index_t first = 0; first < count; first += widest) {
            const index_t used = std::min(widest, count - first), width = room_for(used);
            std::vector<double> group(at(n * width), 0.0);
            for (index_t s = 0; s < used; ++s)
                for (index_t i = 0; i < n; ++i) group[at(i * width + s)] = vectors[at(first + s)][i];
            groups.push_back(std::move(group));
        }
    }
    // out[s] for every vector s.
    void with(const SparseMatrix& columns, index_t j, double* out) const {
        double sums[widest];
        for (index_t first = 0; first < count; first += widest) {
            const index_t used = std::min(widest, count - first);
            products(columns, j, groups[at(first / widest)].data(), room_for(used), sums);
            std::copy_n(sums, used, out + first);
        }
    }
};

}  // namespace

SparseColumnDesign::SparseColumnDesign(const SparseColumnTable& table, const double* weights, index_t n_problems,
                                       bool intercept, double* x_mean, double* y_mean, int threads)
    : TargetDesign(n_problems), table_(table), x_mean_(x_mean), norms_(at(table.columns.lines)) {
    p = table.columns.lines;
    problems = n_problems;
    const index_t n = table.columns.places;
    std::vector<const double*> right;
    for (index_t f = 0; f < problems; ++f) {
        Part& part = parts_[at(f)];
        part.start(table.target, weights + f * n, n, p, intercept);
        y_mean[f] = part.y_mean;
        right.push_back(part.weighted_residual.data());
        right.push_back(part.weights);
    }
    const Sides sides(n, right);
    parallel_chunks(p, 64, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> out(right.size());
        for (index_t j = begin; j < end; ++j) {
            const double* const values = table_.columns.values + table_.columns.begin(j);
            const index_t cells = table_.columns.end(j) - table_.columns.begin(j);
            norms_[at(j)] = std::sqrt(dot(values, values, cells));
            sides.with(table_.columns, j, out.data());
            for (index_t f = 0; f < problems; ++f) {
                Part& part = parts_[at(f)];
                const double mean = intercept ? out[at(2 * f + 1)] / part.weight : 0.0;
                x_mean[f * p + j] = mean;
                part.cross[at(j)] = out[at(2 * f)] - mean * part.residual_sum;
            }
        }
    });
}

bool SparseColumnDesign::finite() const {
    return std::all_of(norms_.begin(), norms_.end(), [](double norm) { return std::isfinite(norm); });
}

void SparseColumnDesign::block(index_t problem, const std::vector<index_t>& columns, index_t first, Block& block,
                               int) const {
    const Part& part = parts_[at(problem)];
    const double* const mean = x_mean_ + problem * p;
    const SparseMatrix& table = table_.columns;
    const index_t m = static_cast<index_t>(columns.size());
    const index_t width = room_for(m - first);
    std::vector<double> spread(at(table.places * width), 0.0);  // entering columns, weighted, cell by cell in reach
    for (index_t begin = first; begin < m; begin += width) {
        const index_t end = std::min(m, begin + width);
        const auto scatter = [&](bool clear) {
            for (index_t b = begin; b < end; ++b) {
                const index_t j = columns[at(b)];
                for (index_t k = table.begin(j); k < table.end(j); ++k) {
                    const index_t i = table.indices[k];
                    spread[at(i * width + b - begin)] = clear ? 0.0 : part.weights[i] * table.values[k] / part.weight;
                }
            }
        };
        scatter(false);
        for (index_t a = 0; a < end; ++a) {
            double sums[widest];
            products(table, columns[at(a)], spread.data(), width, sums);
            for (index_t b = std::max(begin, a); b < end; ++b) {
                const double value = sums[b - begin] - mean[columns[at(a)]] * mean[columns[at(b)]];
                block.set(a, b, value);
                block.set(b, a, value);
            }
        }
        scatter(true);
    }
}

void SparseColumnDesign::extend(index_t problem, const std::vector<index_t>& columns, index_t first,
                                ResidualState& state, int) const {
    const Part& part = parts_[at(problem)];
    const SparseMatrix& table = table_.columns;
    state.own.resize(columns.size());
    for (std::size_t a = at(first); a < columns.size(); ++a) {
        double sum = 0;
        for (index_t k = table.begin(columns[a]); k < table.end(columns[a]); ++k)
            sum += part.weights[table.indices[k]] * table.values[k] * table.values[k];
        const double mean = x_mean_[problem * p + columns[a]];
        state.own[a] = sum / part.weight - mean * mean;
    }
}

void SparseColumnDesign::residual(index_t problem, const Support& support, ResidualState& state) const {
    const Part& part = parts_[at(problem)];
    const index_t n = table_.columns.places;
    state.e.resize(at(n));
    for (index_t i = 0; i < n; ++i)
        state.e[at(i)] = part.weights[i] * (table_.target[i] - part.y_mean) / part.weight;
    state.level = 0;
    for (std::size_t a = 0; a < support.columns.size(); ++a)
        if (support.values[a] != 0) move(problem, support.columns[a], support.values[a], state);
}

double SparseColumnDesign::slope(index_t problem, index_t column, const ResidualState& state) const {
    double sum;
    column_products<1>(table_.columns, column, state.e.data(), &sum);
    return sum + state.level * x_mean_[problem * p + column];
}

void SparseColumnDesign::move(index_t problem, index_t column, double by, ResidualState& state) const {
    const Part& part = parts_[at(problem)];
    const SparseMatrix& table = table_.columns;
    const double factor = by / part.weight;
    for (index_t k = table.begin(column); k < table.end(column); ++k) {
        const index_t i = table.indices[k];
        state.e[at(i)] -= factor * table.values[k] * part.weights[i];
    }
    state.level += by * x_mean_[problem * p + column];
}

GapSums SparseColumnDesign::sweep(index_t problem, const std::vector<index_t>& columns, const Penalty& penalty,
                                  const std::vector<double>& v, std::vector<double>& b, ResidualState& state) const {
    for (std::size_t k = 0; k < columns.size(); ++k) {
        const double old = b[k], own = state.own[k], curvature = own + penalty.l2 * v[k];
        if (!(curvature > 0)) continue;
        const double value = penalty.soft(slope(problem, columns[k], state) + own * old, penalty.l1 * v[k]) / curvature;
        if (value == old) continue;
        b[k] = value;
        move(problem, columns[k], value - old, state);
    }
    return {};
}

void SparseColumnDesign::refresh(std::vector<Request>& requests, const double* penalty_weights, bool, int threads) {
    const SparseMatrix& table = table_.columns;
    const index_t n = table.places, count = static_cast<index_t>(requests.size());
    parallel_chunks(count, 1, threads, [&](index_t r, index_t, index_t) {
        Request& request = requests[at(r)];
        Part& part = parts_[at(request.problem)];
        const double* const mean = x_mean_ + request.problem * p;
        const std::vector<double> before = part.residual;
        double shift = 0;
        for (std::size_t a = 0; a < request.support.columns.size(); ++a)
            shift += request.support.values[a] * mean[request.support.columns[a]];
        for (index_t i = 0; i < n; ++i) part.residual[at(i)] = table_.target[i] - part.y_mean + shift;
        for (std::size_t a = 0; a < request.support.columns.size(); ++a) {
            const double value = request.support.values[a];
            const index_t j = request.support.columns[a];
            if (value == 0) continue;
            for (index_t k = table.begin(j); k < table.end(j); ++k)
                part.residual[at(table.indices[k])] -= value * table.values[k];
        }
        part.settle(before, norms_, request.gradient);
    });
    // A column is read if some problem cannot do without it; the others keep what they know of it.
    const auto needs = [&](const Request& request, index_t j) {
        return request.place[at(j)] >= 0 ||
               std::abs(request.gradient.value[at(j)]) + request.gradient.slack[at(j)] > request.l1 * penalty_weights[j];
    };
    std::vector<index_t> wanted;
    for (index_t j = 0; j < p; ++j)
        if (std::isfinite(penalty_weights[j]) &&
            std::any_of(requests.begin(), requests.end(), [&](const Request& request) { return needs(request, j); }))
            wanted.push_back(j);
    std::vector<const double*> right;
    for (const Request& request : requests) right.push_back(parts_[at(request.problem)].weighted_residual.data());
    const Sides sides(n, right);
    parallel_chunks(static_cast<index_t>(wanted.size()), 64, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> out(right.size());
        for (index_t c = begin; c < end; ++c) {
            const index_t j = wanted[at(c)];
            sides.with(table, j, out.data());
            for (index_t r = 0; r < count; ++r) {
                Request& request = requests[at(r)];
                if (!needs(request, j)) continue;
                const double mean = x_mean_[request.problem * p + j];
                request.gradient.value[at(j)] = out[at(r)] - mean * parts_[at(request.problem)].residual_sum;
                request.gradient.slack[at(j)] = 0;
            }
        }
    });
}

}  // namespace assay::elastic_net
