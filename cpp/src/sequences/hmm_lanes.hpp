// The recursions of a hidden Markov model for eight sequences side by side: each number is a vector with a lane for each
// sequence, so that no sum runs across lanes and the steps of eight chains overlap. Arithmetic within a lane does not depend on
// its neighbours.
//
// Arrays by row: emissions and filtered hold `width` vectors for each t, sums one. A lane whose sequence is shorter than the
// longest of the group has emissions 1 beyond its end; `ends` are the lengths. The mathematics is that of hmm.hpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/common/elementary.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/views.hpp"

namespace assay::sequences {

constexpr index_t lanes = 8;
using Lanes = double __attribute__((vector_size(64), aligned(8), may_alias));

struct Group {
    index_t k = 0, width = 0, steps = 0, shortest = 0;  // states, states with padding, rows of the longest and the shortest
    index_t first[lanes] = {}, ends[lanes] = {};        // first row and length of each sequence; length 0: no sequence
    double weights[lanes] = {};
    const double* start = nullptr;        // width
    const double* transitions = nullptr;  // width x width
    double* emissions = nullptr;
    double* filtered = nullptr;
    double* sums = nullptr;
    const std::int64_t* codes = nullptr;  // symbols of the rows, where emissions come from a table
};

template <int K>
ASSAY_INLINE void forward_group_body(const Group& group) {
    const index_t width = K > 0 ? K : group.width;
    const double* const transitions = group.transitions;
    for (index_t t = 0; t < group.steps; ++t) {
        Lanes* const now = reinterpret_cast<Lanes*>(group.filtered + t * width * lanes);
        const Lanes* const emitted = reinterpret_cast<const Lanes*>(group.emissions + t * width * lanes);
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
template <int K>
ASSAY_INLINE void backward_group_body(const Group& group, double* smoothed, double* starts, double* moves, double* counts,
                                      Lanes* buffers) {
    const index_t width = K > 0 ? K : group.width, k = group.k;
    const double* const transitions = group.transitions;
    Lanes own_later[K > 0 ? K : 1], own_scratch[K > 0 ? K : 1];
    Lanes* const later = K > 0 ? own_later : buffers;
    Lanes* const scratch = K > 0 ? own_scratch : buffers + width;
    Lanes* const gathered = buffers + 2 * width;  // width x width sums of moves
    Lanes* const gamma = gathered + width * width;
    for (index_t j = 0; j < width; ++j) later[j] = Lanes{} + 1.0;
    if (moves != nullptr)
        for (index_t p = 0; p < width * width; ++p) gathered[p] = Lanes{};
    for (index_t t = group.steps - 1; t >= 0; --t) {
        const Lanes* const here = reinterpret_cast<const Lanes*>(group.filtered + t * width * lanes);
        if (t + 1 < group.steps) {
            const Lanes* const emitted = reinterpret_cast<const Lanes*>(group.emissions + (t + 1) * width * lanes);
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
        for (index_t j = 0; j < width; ++j) total += gamma[j] = here[j] * later[j];
        const Lanes inverse = 1.0 / total;
        for (index_t j = 0; j < width; ++j) gamma[j] *= inverse;
        const double* const flat = reinterpret_cast<const double*>(gamma);
        for (index_t lane = 0; lane < lanes; ++lane) {
            if (t >= group.ends[lane]) continue;
            const index_t row = group.first[lane] + t;
            if (smoothed != nullptr)
                for (index_t j = 0; j < k; ++j) smoothed[row * k + j] = flat[j * lanes + lane];
            if (counts != nullptr)
                for (index_t j = 0; j < k; ++j) counts[group.codes[row] * k + j] += group.weights[lane] * flat[j * lanes + lane];
            if (starts != nullptr && t == 0)
                for (index_t j = 0; j < k; ++j) starts[j] += group.weights[lane] * flat[j * lanes + lane];
        }
    }
    if (moves == nullptr) return;
    for (index_t p = 0; p < width * width; ++p)
        for (index_t lane = 0; lane < lanes; ++lane)
            if (group.ends[lane] > 0) moves[p] += group.weights[lane] * gathered[p][lane];
}

// Log densities of the rows, scaled by their largest, as emissions; `shifts` OUT the sum of what was taken off, per lane.
ASSAY_INLINE void emit_group_body(const Group& group, const double* logs, double* shifts) {
    constexpr double least = -__builtin_inf();
    const index_t width = group.width, k = group.k;
    for (index_t lane = 0; lane < lanes; ++lane) shifts[lane] = 0.0;
    for (index_t t = 0; t < group.steps; ++t) {
        double* const row = group.emissions + t * width * lanes;
        for (index_t lane = 0; lane < lanes; ++lane) {
            if (t < group.ends[lane]) {
                const double* const own = logs + (group.first[lane] + t) * k;
                for (index_t j = 0; j < k; ++j) row[j * lanes + lane] = own[j];
            } else {
                for (index_t j = 0; j < k; ++j) row[j * lanes + lane] = 0.0;
            }
        }
        Lanes* const rows = reinterpret_cast<Lanes*>(row);
        Lanes top = rows[0];
        for (index_t j = 1; j < k; ++j) top = rows[j] > top ? rows[j] : top;
        top = top > least ? top : Lanes{};
        *reinterpret_cast<Lanes*>(shifts) += top;
        for (index_t j = 0; j < k; ++j) rows[j] -= top;
        for (index_t j = k; j < width; ++j) rows[j] = Lanes{} + least;
    }
    for (index_t p = 0; p < group.steps * width * lanes; ++p) group.emissions[p] = fast_exp(group.emissions[p]);
}

}  // namespace assay::sequences
