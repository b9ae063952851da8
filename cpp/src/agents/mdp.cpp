#include "assay/agents/mdp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "assay/common/threads.hpp"

namespace assay::agents {
namespace {

constexpr index_t grain = 2048;  // states of a chunk
constexpr double settled = 0.2;  // the share of the last change below which the values of a policy need no more sweeps

std::size_t at(index_t i) { return static_cast<std::size_t>(i); }

double action_value(const Process& process, double discount, const double* values, index_t row) {
    double part[2] = {};
    std::int64_t p = process.starts[row];
    const std::int64_t end = process.starts[row + 1];
    for (; p + 1 < end; p += 2) {
        part[0] += process.chance[p] * values[process.next[p]];
        part[1] += process.chance[p + 1] * values[process.next[p + 1]];
    }
    if (p < end) part[0] += process.chance[p] * values[process.next[p]];
    return process.rewards[row] + discount * (part[0] + part[1]);
}

// The best value of a state and its first best action.
double best_value(const Process& process, double discount, const double* values, index_t state, std::int32_t& action) {
    double best = -std::numeric_limits<double>::infinity();
    for (index_t a = 0; a < process.actions; ++a) {
        const double value = action_value(process, discount, values, state * process.actions + a);
        if (value > best) {
            best = value;
            action = static_cast<std::int32_t>(a);
        }
    }
    return best;
}

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double change) {
        low = std::min(low, change);
        high = std::max(high, change);
    }
};

}  // namespace

Plan plan_values(const Process& process, double discount, bool in_place, index_t evaluations, bool by_span, double tol,
                 index_t most_sweeps, double* values, int threads) {
    const index_t n = process.states, chunks = chunk_count(n, grain);
    const double factor = discount / (1.0 - discount);
    const bool span = by_span && !in_place;
    std::vector<double> other(in_place ? 0 : at(n));
    std::vector<std::int32_t> greedy(at(n), 0);
    std::vector<Range> ranges(at(chunks));
    double *now = values, *following = in_place ? values : other.data();

    // One sweep over all states by `value(state, values before)`; how far the values moved.
    const auto sweep = [&](auto&& value) {
        Range range;
        if (in_place) {
            for (index_t s = 0; s < n; ++s) {
                const double found = value(s, now);
                range.add(found - now[s]);
                now[s] = found;
            }
            return range;
        }
        parallel_chunks(n, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
            Range own;
            for (index_t s = begin; s < end; ++s) {
                following[s] = value(s, now);
                own.add(following[s] - now[s]);
            }
            ranges[at(chunk)] = own;
        });
        for (const Range& own : ranges) {
            range.add(own.low);
            range.add(own.high);
        }
        std::swap(now, following);
        return range;
    };
    const auto width = [&](const Range& range) {
        return span ? range.high - range.low : std::max(std::abs(range.low), std::abs(range.high));
    };

    Plan plan;
    for (index_t step = 0; step < most_sweeps && !interrupted(); ++step) {
        const Range range =
            sweep([&](index_t s, const double* before) { return best_value(process, discount, before, s, greedy[at(s)]); });
        if (interrupted()) break;
        const double change = width(range);
        plan.changes.push_back(change);
        if (change * factor * (span ? 0.5 : 1.0) <= tol) {
            if (span)
                for (index_t s = 0; s < n; ++s) now[s] += 0.5 * factor * (range.low + range.high);
            plan.converged = true;
            break;
        }
        for (index_t e = 0; e < evaluations && !interrupted(); ++e) {
            const Range moved = sweep([&](index_t s, const double* before) {
                return action_value(process, discount, before, s * process.actions + greedy[at(s)]);
            });
            if (width(moved) <= settled * change) break;
        }
    }
    if (now != values) std::copy(now, now + n, values);
    return plan;
}

void action_values(const Process& process, double discount, const double* values, double* q, std::int64_t* policy,
                   int threads) {
    parallel_chunks(process.states, grain, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t s = begin; s < end; ++s) {
            policy[s] = 0;
            for (index_t a = 0; a < process.actions; ++a) {
                const index_t row = s * process.actions + a;
                q[row] = action_value(process, discount, values, row);
                if (q[row] > q[s * process.actions + policy[s]]) policy[s] = a;
            }
        }
    });
}

}  // namespace assay::agents
