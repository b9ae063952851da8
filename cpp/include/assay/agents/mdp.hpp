// Planning in a known Markov decision process: states s, actions a, transitions P(s' | s, a) as sparse rows s * actions + a,
// expected rewards r(s, a), discount g.
//
//     (T V)(s) = max_a Q(s, a),   Q(s, a) = r(s, a) + g sum_s' P(s' | s, a) V(s')        (Bellman, 1957)
//
// Value iteration repeats V <- T V; modified policy iteration (Puterman & Shin, Management Science 24, 1978) follows each T by
// up to `evaluations` sweeps with the greedy actions held, fewer where one moves the values by less than a fifth of what T
// did: the values of this policy are settled as far as the next choice can tell. Gauss-Seidel takes new values of earlier states at once. With rows of P
// that add up to 1 the sweeps stop by the span of the last change D = T V - V:
//     T V + g/(1-g) min D <= V* <= T V + g/(1-g) max D,
// and the middle of these bounds is given, at most `tol` from V*; otherwise (and for Gauss-Seidel) they stop when
// max |D| g/(1-g) <= tol. Ties go to the first action.
//
// Shapes: starts states * actions + 1, next and chance by entry, rewards states * actions; values IN start, OUT V; q OUT states
// x actions; policy OUT states; changes OUT one number per sweep. Cost of a sweep: one multiply-add per entry.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::agents {

struct Process {
    index_t states = 0, actions = 0;
    const std::int64_t* starts = nullptr;
    const std::int32_t* next = nullptr;
    const double* chance = nullptr;
    const double* rewards = nullptr;
};

struct Plan {
    std::vector<double> changes;
    bool converged = false;
};

Plan plan_values(const Process& process, double discount, bool in_place, index_t evaluations, bool by_span, double tol,
                 index_t most_sweeps, double* values, int threads);

// Q of given values, and the greedy actions.
void action_values(const Process& process, double discount, const double* values, double* q, std::int64_t* policy,
                   int threads);

}  // namespace assay::agents
