#include "assay/linear/elastic_net.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>

#include "assay/common/large_pages.hpp"
#include "assay/common/threads.hpp"
#include "elastic_net_design.hpp"
#include "elastic_net_problem.hpp"

namespace assay {
namespace elastic_net {
namespace {

constexpr double early_share = 0.1;  // of the whole gap, to which a working set is solved while columns wait outside
constexpr double way_factor = 1.5;        // between the penalties that lead to a single one
constexpr double longest_way = 40;
constexpr index_t most_before_double = 200;  // sweeps over Q in single precision, which may not be enough
constexpr double rough_tolerance = 1e-3;  // for them
constexpr double infinity = std::numeric_limits<double>::infinity();

// How to go about a single penalty.
struct Manner {
    bool by_full_columns = false;
    index_t rough = 0;       // penalties at the beginning that only lead the way
    bool abandoned = false;  // OUT: full columns turned out to be the long way; nothing is solved
};

ElasticNetSolution follow_path(Design& design, const double* start, const ElasticNetTask& task, Manner& manner,
                               int threads) {
    const bool by_full_columns = manner.by_full_columns;
    std::vector<Problem> all;
    for (index_t f = 0; f < design.problems; ++f) all.emplace_back(design, f, task, by_full_columns, threads);
    ElasticNetSolution solution;
    const std::size_t points = at(design.problems * task.n_alphas);
    solution.points.resize(points);
    solution.gaps.resize(points);
    solution.sweeps.resize(points);

    const auto refresh = [&](const std::vector<index_t>& which, double l1, bool rough) {
        std::vector<Request> requests;
        for (index_t f : which) requests.push_back(all[at(f)].request(l1));
        design.refresh(requests, task.penalty_weights, rough, threads);
    };
    std::vector<index_t> everyone(at(design.problems));
    std::iota(everyone.begin(), everyone.end(), index_t{0});
    if (start != nullptr) {
        for (index_t f : everyone) all[at(f)].start(start + f * design.p);
        refresh(everyone, 0.0, false);
    }
    std::vector<double> last_l1(at(design.problems), infinity), last_gap(at(design.problems), 0.0);
    for (index_t a = 0; a < task.n_alphas && !interrupted(); ++a) {
        const Penalty penalty{task.alphas[a] * task.l1_ratio, task.alphas[a] * (1 - task.l1_ratio), task.positive};
        const bool rough = a < manner.rough;
        const double tolerance = rough ? std::max(task.tolerance, rough_tolerance) : task.tolerance;
        double share = 0;
        if (a >= 2) {
            share = (task.alphas[a] - task.alphas[a - 1]) / (task.alphas[a - 1] - task.alphas[a - 2]);
            if (!(share > 0 && share < 4)) share = 0;
        }
        for (index_t f : everyone) {
            all[at(f)].sweeps = 0;
            if (a == 0) last_l1[at(f)] = all[at(f)].largest_pull(penalty);
            last_gap[at(f)] = all[at(f)].full_gap(penalty);
        }
        std::vector<index_t> pending = everyone;
        for (index_t round = 0; !pending.empty() && !interrupted(); ++round) {
            std::vector<index_t> entered(at(design.problems));
            parallel_chunks(static_cast<index_t>(pending.size()), 1, threads, [&](index_t k, index_t, index_t) {
                const index_t f = pending[at(k)];
                Problem& problem = all[at(f)];
                const bool trace = task.trace && f == 0 && !rough;
                if (round == 0) {
                    problem.shed(penalty);
                    problem.foresee(share);
                    const double strong = std::min(penalty.l1, std::max(0.0, 2 * penalty.l1 - last_l1[at(f)]));
                    entered[at(f)] = problem.grow(penalty, share > 0 ? expected_margin * penalty.l1 : strong);
                    if (share > 0) problem.leap(penalty);
                    else problem.load_gradient();
                } else {
                    problem.expect_no_change();
                    entered[at(f)] = problem.grow(penalty, penalty.l1);
                    problem.load_gradient();
                }
                double target = (entered[at(f)] > 0 || round == 0 ? 1.0 : std::pow(0.1, round)) * inner_share *
                                tolerance * problem.y_squares;
                // Not more exact than the set deserves: the gap that the columns left outside keep open.
                const bool early = by_full_columns && problem.more_to_come;
                if (early) target = std::max(target, early_share * last_gap[at(f)]);
                problem.solve(penalty, target, trace);
                if (task.refine && !early && !rough) problem.refine(penalty, trace);
            });
            if (by_full_columns && std::any_of(all.begin(), all.end(), [](const Problem& one) { return one.abandoned; })) {
                manner.abandoned = true;
                solution.sweeps[0] = static_cast<std::int32_t>(all[0].sweeps);
                return solution;
            }
            refresh(pending, penalty.l1, rough);
            std::vector<index_t> still;
            for (index_t f : pending) {
                Problem& problem = all[at(f)];
                const std::size_t point = at(f * task.n_alphas + a);
                const double gap = last_gap[at(f)] = problem.full_gap(penalty);
                bool finished = gap <= tolerance * problem.y_squares;
                if (finished && problem.exact && round < 30) finished = !problem.breaks_optimality_outside(penalty);
                // Nothing entered and the gap is still open: rounding, or the limit of sweeps.
                if (problem.sweeps >= task.max_sweeps || (round > 8 && entered[at(f)] == 0)) finished = true;
                if (!finished) {
                    still.push_back(f);
                    continue;
                }
                if (!rough) problem.write(solution.points[point]);
                solution.gaps[point] = gap;
                solution.sweeps[point] = static_cast<std::int32_t>(problem.sweeps);
            }
            pending.swap(still);
        }
        std::fill(last_l1.begin(), last_l1.end(), penalty.l1);
        if (task.trace) {
            solution.objective.insert(solution.objective.end(), all[0].objective.begin(), all[0].objective.end());
            solution.traced.resize(solution.objective.size(), static_cast<std::int32_t>(a));
            all[0].objective.clear();
        }
    }
    return solution;
}

// The larger penalties that lead to one: evenly spaced in the logarithm.
std::vector<double> way_down(const Design& design, const ElasticNetTask& task) {
    double top = 0;
    for (index_t j = 0; j < design.p; ++j) {
        const double pull = design.cross(0)[j] / task.penalty_weights[j];
        top = std::max(top, (task.positive ? pull : std::abs(pull)) / task.l1_ratio);
    }
    const double last = task.alphas[0];
    const double steps = std::min(longest_way, std::ceil(std::log(top / last) / std::log(way_factor)));
    std::vector<double> way;
    for (double k = 1; k < steps; ++k) way.push_back(top * std::pow(last / top, k / steps));
    way.push_back(last);
    return way;
}

// One problem, one penalty. Rows enough: sweeps over the columns, as long as they are cheaper than blocks of Q. Else, or
// then, down a path of larger penalties that are solved roughly: working sets stay small, and signs are right early.
ElasticNetSolution follow_single(Design& design, const double* start, const ElasticNetTask& task, int threads) {
    Manner manner;
    std::int32_t spent = 0;
    if (design.rows() >= design.p) {
        manner.by_full_columns = true;
        ElasticNetSolution solution = follow_path(design, start, task, manner, threads);
        if (!manner.abandoned) return solution;
        spent = solution.sweeps[0];
        start = nullptr;
        manner = {};
    }
    std::vector<double> way{task.alphas[0]};
    if (start == nullptr && task.alphas[0] * task.l1_ratio > 0) way = way_down(design, task);
    ElasticNetTask whole = task;
    whole.alphas = way.data();
    whole.n_alphas = static_cast<index_t>(way.size());
    whole.refine = false;
    whole.max_sweeps = std::min(task.max_sweeps, most_before_double);
    manner.rough = whole.n_alphas - 1;
    ElasticNetSolution solution = follow_path(design, start, whole, manner, threads);
    solution.points.erase(solution.points.begin(), solution.points.end() - 1);
    solution.gaps = {solution.gaps.back()};
    spent = std::accumulate(solution.sweeps.begin(), solution.sweeps.end(), spent);
    const auto active = static_cast<index_t>(solution.points[0].columns.size());
    const bool open = solution.gaps[0] > task.tolerance * design.y_squares(0);
    const bool more = open ? solution.sweeps.back() < task.max_sweeps : task.refine && active <= exact_limit;
    if (more && !interrupted()) {
        ElasticNetSolution refined = follow_path(design, solution.coefficients(design.p).data(), task, manner = {}, threads);
        spent += refined.sweeps[0];
        refined.objective.insert(refined.objective.begin(), solution.objective.begin(), solution.objective.end());
        solution = std::move(refined);
    }
    solution.sweeps = {spent};
    solution.traced.assign(solution.objective.size(), 0);
    return solution;
}

}  // namespace
}  // namespace elastic_net

std::vector<double> ElasticNetSolution::coefficients(index_t p) const {
    std::vector<double> all(points.size() * static_cast<std::size_t>(p), 0.0);
    for (std::size_t k = 0; k < points.size(); ++k)
        for (std::size_t a = 0; a < points[k].columns.size(); ++a)
            all[k * static_cast<std::size_t>(p) + static_cast<std::size_t>(points[k].columns[a])] = points[k].values[a];
    return all;
}

namespace {

// The solutions of problems that were solved one by one; the trace is that of the first.
ElasticNetSolution joined(std::vector<ElasticNetSolution>& found) {
    ElasticNetSolution all = std::move(found[0]);
    for (std::size_t f = 1; f < found.size(); ++f) {
        ElasticNetSolution& next = found[f];
        std::move(next.points.begin(), next.points.end(), std::back_inserter(all.points));
        all.gaps.insert(all.gaps.end(), next.gaps.begin(), next.gaps.end());
        all.sweeps.insert(all.sweeps.end(), next.sweeps.begin(), next.sweeps.end());
        all.finite = all.finite && next.finite;
    }
    return all;
}

}  // namespace

ElasticNetSolution elastic_net_from_moments(const std::vector<ElasticNetMoments>& problems, index_t p,
                                            const double* start, const ElasticNetTask& task, int threads) {
    // Nothing is shared between problems here, so each goes its way alone.
    const auto count = static_cast<index_t>(problems.size());
    const int inside = count == 1 ? threads : 1;
    std::vector<ElasticNetSolution> found(problems.size());
    parallel_chunks(count, 1, threads, [&](index_t f, index_t, index_t) {
        const std::vector<ElasticNetMoments> one{problems[static_cast<std::size_t>(f)]};
        elastic_net::MomentDesign design(one, p);
        ElasticNetTask own = task;
        own.trace = task.trace && f == 0;
        elastic_net::Manner manner;
        found[static_cast<std::size_t>(f)] =
            elastic_net::follow_path(design, start == nullptr ? nullptr : start + f * p, own, manner, inside);
    });
    return joined(found);
}

namespace {

ElasticNetSolution not_finite(const elastic_net::Design& design, const ElasticNetTask& task) {
    ElasticNetSolution nothing;
    nothing.finite = false;
    const std::size_t points = static_cast<std::size_t>(design.problems * task.n_alphas);
    nothing.points.resize(points);
    nothing.gaps.assign(points, 0.0);
    nothing.sweeps.assign(points, 0);
    return nothing;
}

}  // namespace

namespace {

struct Free {
    void operator()(void* cells) const { std::free(cells); }
};

}  // namespace

ElasticNetSolution elastic_net_from_columns(const ColumnTable& table, const double* weights, index_t problems,
                                            bool intercept, const double* start, const ElasticNetTask& task,
                                            double* x_mean, double* y_mean, int threads) {
    // A single penalty on fewer rows than columns is solved by a path too, of which only the end is to be refined.
    ElasticNetTask path = task;
    path.refine = task.refine && task.n_alphas > 1;
    const bool long_path = task.n_alphas >= elastic_net::least_for_copy || (task.n_alphas == 1 && table.stride < table.p);
    const bool keep_low = long_path && elastic_net::allows_single(path);
    if (table.columns == nullptr && !keep_low) {
        // On large pages: a table written by column touches more small ones than the processor keeps.
        const std::unique_ptr<double[], Free> written(
            LargePages<double>().allocate(static_cast<std::size_t>(table.p * table.stride)));
        shifted_columns(table.rows, table.shift, written.get(), table.stride, threads);
        return elastic_net_from_columns({written.get(), table.target, table.p, table.stride}, weights, problems, intercept,
                                        start, task, x_mean, y_mean, threads);
    }
    if (task.n_alphas == 1 && problems > 1) {
        // Alone or in company the same: what a single penalty takes depends on the problem.
        std::vector<ElasticNetSolution> found;
        for (index_t f = 0; f < problems; ++f) {
            ElasticNetTask own = task;
            own.trace = task.trace && f == 0;
            found.push_back(elastic_net_from_columns(table, weights + f * table.stride, 1, intercept,
                                                     start == nullptr ? nullptr : start + f * table.p, own,
                                                     x_mean + f * table.p, y_mean + f, threads));
        }
        return joined(found);
    }
    elastic_net::ColumnDesign design(table, weights, problems, intercept, x_mean, y_mean, keep_low, threads);
    if (!design.finite()) return not_finite(design, task);
    if (task.n_alphas == 1) return elastic_net::follow_single(design, start, task, threads);
    elastic_net::Manner manner;
    return elastic_net::follow_path(design, start, task, manner, threads);
}

ElasticNetSolution elastic_net_from_sparse_columns(const SparseColumnTable& table, const double* weights,
                                                   index_t problems, bool intercept, const double* start,
                                                   const ElasticNetTask& task, double* x_mean, double* y_mean,
                                                   int threads) {
    elastic_net::SparseColumnDesign design(table, weights, problems, intercept, x_mean, y_mean, threads);
    if (!design.finite()) return not_finite(design, task);
    elastic_net::Manner manner;
    return elastic_net::follow_path(design, start, task, manner, threads);
}

}  // namespace assay
