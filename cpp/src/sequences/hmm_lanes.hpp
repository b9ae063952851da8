// The recursions of a hidden Markov model for eight sequences side by side: each number is a vector with a lane for each
// sequence, so that no sum runs across lanes and the steps of eight chains overlap. Arithmetic within a lane does not depend on
// its neighbours.
//
// The sequences are taken segment by segment, steps `begin` .. `end`: forwards, where the filtered states at the end of each
// segment are kept, and then backwards from the last segment, each made again from what was kept. So memory is that of one
// segment, which stays in the cache. Arrays by row: emissions and filtered hold `width` vectors for each t of the
// segment, sums one for each t. Row 0 of filtered is the step before the segment; the row after the last of emissions is the
// step after it. A lane whose sequence is shorter than the longest of the group has emissions 1 beyond its end; `ends` are the
// lengths. The mathematics is that of hmm.hpp.
#pragma once

#include <algorithm>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"
#include "assay/sequences/hmm.hpp"

namespace assay::sequences {

constexpr index_t lanes = 8;
constexpr index_t segment = 512;  // steps: longer ones are made again less often, shorter ones take less memory
using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));

struct Group {
    index_t k = 0, width = 0, steps = 0, shortest = 0;  // states, states with padding, rows of the longest and the shortest
    index_t begin = 0, end = 0;                         // steps of the segment
    index_t first[lanes] = {}, ends[lanes] = {};        // first row and length of each sequence; length 0: no sequence
    double weights[lanes] = {};
    const double* start = nullptr;        // width
    const double* transitions = nullptr;  // width x width
    double* emissions = nullptr;
    double* filtered = nullptr;
    double* sums = nullptr;
    Symbols symbols;  // of the rows, where emissions come from a table
};

template <int K>
ASSAY_INLINE void forward_group_body(const Group& group) {
    const index_t width = K > 0 ? K : group.width;
    const double* const transitions = group.transitions;
    for (index_t t = group.begin; t < group.end; ++t) {
        const index_t row = t - group.begin;
        Lanes* const now = reinterpret_cast<Lanes*>(group.filtered + (row + 1) * width * lanes);
        const Lanes* const emitted = reinterpret_cast<const Lanes*>(group.emissions + row * width * lanes);
        Lanes sum = {};
        if (t == 0) {
            for (index_t j = 0; j < width; ++j) sum += now[j] = group.start[j] * emitted[j];
        } else if constexpr (K > 0) {
            // Copies that no store can change stay in registers.
            Lanes before[K], reached[K];
            for (int i = 0; i < K; ++i) before[i] = now[i - K];
            for (int j = 0; j < K; ++j) {
                reached[j] = before[0] * transitions[j];
                for (int i = 1; i < K; ++i) reached[j] += before[i] * transitions[i * K + j];
                reached[j] *= emitted[j];
                sum += reached[j];
            }
            const Lanes inverse = 1.0 / sum;
            for (int j = 0; j < K; ++j) now[j] = reached[j] * inverse;
            reinterpret_cast<Lanes*>(group.sums)[t] = sum;
            continue;
        } else {
            const Lanes* const before = now - width;
            for (index_t j = 0; j < width; ++j) {
                Lanes reached = {};
                for (index_t i = 0; i < width; ++i) reached += before[i] * transitions[i * width + j];
                sum += now[j] = reached * emitted[j];
            }
        }
        reinterpret_cast<Lanes*>(group.sums)[t] = sum;
        const Lanes inverse = 1.0 / sum;
        for (index_t j = 0; j < width; ++j) now[j] *= inverse;
    }
}

// smoothed OUT n x k (or null), starts += k, moves += width x width (without A; or null), counts += symbols x k (or null).
// Filtered states of the segment become smoothed ones. `buffers` bears what goes on from segment to segment.
template <int K>
ASSAY_INLINE void backward_group_body(const Group& group, double* smoothed, double* starts, double* moves, double* counts,
                                      Lanes* buffers) {
    const index_t width = K > 0 ? K : group.width, k = group.k;
    const double* const transitions = group.transitions;
    const bool last = group.end == group.steps;
    Lanes own_later[K > 0 ? K : 1], own_scratch[K > 0 ? K : 1];
    Lanes* const later = K > 0 ? own_later : buffers;
    Lanes* const scratch = K > 0 ? own_scratch : buffers + width;
    Lanes* const gathered = buffers + 2 * width;  // width x width sums of moves
    if (last)
        for (index_t j = 0; j < width; ++j) later[j] = Lanes{} + 1.0;
    else if constexpr (K > 0)
        for (index_t j = 0; j < width; ++j) later[j] = buffers[j];
    if (last && moves != nullptr)
        for (index_t p = 0; p < width * width; ++p) gathered[p] = Lanes{};
    for (index_t t = group.end - 1; t >= group.begin; --t) {
        const index_t own = t - group.begin;
        Lanes* const here = reinterpret_cast<Lanes*>(group.filtered + (own + 1) * width * lanes);
        if (t + 1 < group.steps) {
            const Lanes* const emitted = reinterpret_cast<const Lanes*>(group.emissions + (own + 1) * width * lanes);
            Lanes inverse = 1.0 / reinterpret_cast<const Lanes*>(group.sums)[t + 1];
            Lanes on = Lanes{} + 1.0;
            if (t + 1 >= group.shortest) {
                for (index_t lane = 0; lane < lanes; ++lane) on[lane] = t + 1 < group.ends[lane] ? 1.0 : 0.0;
                inverse *= on;
            }
            for (index_t j = 0; j < width; ++j) {
                const Lanes value = emitted[j] * later[j] * inverse;
                scratch[j] = value < 1e300 ? value : Lanes{} + 1e300;
            }
            if (moves != nullptr)
                for (index_t i = 0; i < width; ++i) {
                    const Lanes from = here[i];
                    for (index_t j = 0; j < width; ++j) gathered[i * width + j] += from * scratch[j];
                }
            const Lanes off = 1.0 - on;
            for (index_t i = 0; i < width; ++i) {
                Lanes value = off;
                for (index_t j = 0; j < width; ++j) value += transitions[i * width + j] * scratch[j];
                later[i] = value < 1e290 ? value : Lanes{} + 1e290;
            }
        }
        Lanes total = {};
        for (index_t j = 0; j < width; ++j) total += here[j] *= later[j];
        const Lanes inverse = 1.0 / total;
        for (index_t j = 0; j < width; ++j) here[j] *= inverse;
        const double* const flat = reinterpret_cast<const double*>(here);
        for (index_t lane = 0; lane < lanes; ++lane) {
            if (t >= group.ends[lane]) continue;
            const index_t row = group.first[lane] + t;
            if (smoothed != nullptr)
                for (index_t j = 0; j < k; ++j) smoothed[row * k + j] = flat[j * lanes + lane];
            if (counts != nullptr) {
                const index_t symbol = group.symbols.row(row);
                for (index_t j = 0; j < k; ++j) counts[symbol * k + j] += group.weights[lane] * flat[j * lanes + lane];
            }
            if (starts != nullptr && t == 0)
                for (index_t j = 0; j < k; ++j) starts[j] += group.weights[lane] * flat[j * lanes + lane];
        }
    }
    if constexpr (K > 0)
        for (index_t j = 0; j < width; ++j) buffers[j] = later[j];
    if (moves == nullptr || group.begin > 0) return;
    for (index_t p = 0; p < width * width; ++p)
        for (index_t lane = 0; lane < lanes; ++lane)
            if (group.ends[lane] > 0) moves[p] += group.weights[lane] * gathered[p][lane];
}

// Log densities of a segment's rows side by side; 0 beyond the end of a sequence.
ASSAY_INLINE void gather_group_body(const Group& group, const double* logs) {
    const index_t width = group.width, k = group.k;
    for (index_t t = group.begin; t < group.end; ++t) {
        double* const row = group.emissions + (t - group.begin) * width * lanes;
        for (index_t lane = 0; lane < lanes; ++lane) {
            if (t < group.ends[lane]) {
                const double* const own = logs + (group.first[lane] + t) * k;
                for (index_t j = 0; j < k; ++j) row[j * lanes + lane] = own[j];
            } else {
                for (index_t j = 0; j < k; ++j) row[j * lanes + lane] = 0.0;
            }
        }
    }
}

// Log densities, scaled by the largest of each row, as emissions; `shifts` += what was taken off, per lane.
ASSAY_INLINE void scale_group_body(const Group& group, double* shifts) {
    constexpr double least = -__builtin_inf();
    const index_t width = group.width, k = group.k, steps = group.end - group.begin;
    for (index_t t = 0; t < steps; ++t) {
        Lanes* const rows = reinterpret_cast<Lanes*>(group.emissions + t * width * lanes);
        Lanes top = rows[0];
        for (index_t j = 1; j < k; ++j) top = rows[j] > top ? rows[j] : top;
        top = top > least ? top : Lanes{};
        *reinterpret_cast<Lanes*>(shifts) += top;
        for (index_t j = 0; j < k; ++j) rows[j] -= top;
        for (index_t j = k; j < width; ++j) rows[j] = Lanes{} + least;
    }
    for (index_t p = 0; p < steps * width * lanes; ++p) group.emissions[p] = fast_exp(group.emissions[p]);
}

}  // namespace assay::sequences
