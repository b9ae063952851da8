#include "assay/sequences/hmm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/threads.hpp"

namespace assay::sequences {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double tiny = 1e-280;  // below this a step is taken again with emissions scaled by what can be reached
constexpr index_t watch = 1 << 16;

index_t padded(index_t k) { return k <= 4 ? 4 : k <= 8 ? 8 : k <= 16 ? 16 : (k + 3) / 4 * 4; }

std::size_t cells(index_t n) { return static_cast<std::size_t>(n); }

// Work of one sequence: scaled emissions, filtered probabilities, and per row the sum c_t and the shift m_t.
struct Work {
    index_t k, width;
    std::vector<double> emissions, filtered, sums, shifts, start, transitions, moves;

    explicit Work(const Chain& chain)
        : k(chain.k), width(padded(chain.k)), start(cells(width)), transitions(cells(width * width)),
          moves(cells(width * width)) {
        for (index_t i = 0; i < k; ++i) {
            start[cells(i)] = chain.start[i];
            for (index_t j = 0; j < k; ++j) transitions[cells(i * width + j)] = chain.transitions[i * k + j];
        }
    }
    void resize(index_t steps) {
        const std::size_t need = cells(steps * width);
        if (emissions.size() < need) {
            emissions.assign(need, 0.0);
            filtered.assign(need, 0.0);
        }
        if (sums.size() < cells(steps)) {
            sums.resize(cells(steps));
            shifts.resize(cells(steps));
        }
    }
};

ASSAY_INLINE void scale_body(const double* logs, index_t n, index_t k, index_t width, double* emissions, double* shifts) {
    for (index_t t = 0; t < n; ++t) {
        double top = -infinity;
        for (index_t j = 0; j < k; ++j) top = std::max(top, logs[t * k + j]);
        shifts[t] = top == -infinity ? 0.0 : top;
        for (index_t j = 0; j < k; ++j) emissions[t * width + j] = logs[t * k + j] - shifts[t];
        for (index_t j = k; j < width; ++j) emissions[t * width + j] = -infinity;
    }
    for (index_t p = 0; p < n * width; ++p) emissions[p] = fast_exp(emissions[p]);
}
ASSAY_DISPATCH(void, scale_emissions, scale_body,
               (const double* logs, index_t n, index_t k, index_t width, double* emissions, double* shifts),
               (logs, n, k, width, emissions, shifts))

template <int K>
ASSAY_INLINE double total_of(const double* values, index_t width) {
    if constexpr (K > 0) {
        double part[K];
        for (int j = 0; j < K; ++j) part[j] = values[j];
        for (int half = K / 2; half > 0; half /= 2)
            for (int j = 0; j < half; ++j) part[j] += part[j + half];
        return part[0];
    } else {
        double part[4] = {};
        for (index_t j = 0; j < width; j += 4)
            for (index_t v = 0; v < 4; ++v) part[v] += values[j + v];
        return (part[0] + part[2]) + (part[1] + part[3]);
    }
}

// Rows `first` .. `last` of the forward recursion; stops at a row whose sum is below `tiny` and returns it, else `last`.
template <int K>
ASSAY_INLINE index_t forward_body(index_t first, index_t last, index_t states, const double* start,
                                  const double* transitions, const double* emissions, double* filtered, double* sums) {
    const index_t width = K > 0 ? K : states;
    for (index_t t = first; t < last; ++t) {
        double* const now = filtered + t * width;
        const double* const emitted = emissions + t * width;
        if (t == 0) {
            for (index_t j = 0; j < width; ++j) now[j] = start[j] * emitted[j];
        } else if constexpr (K > 0) {
            const double* const before = now - K;
            double reached[K] = {};
            for (int i = 0; i < K; ++i)
                for (int j = 0; j < K; ++j) reached[j] += before[i] * transitions[i * K + j];
            for (int j = 0; j < K; ++j) now[j] = reached[j] * emitted[j];
        } else {
            const double* const before = now - width;
            for (index_t j = 0; j < width; ++j) now[j] = 0.0;
            for (index_t i = 0; i < width; ++i)
                for (index_t j = 0; j < width; ++j) now[j] += before[i] * transitions[i * width + j];
            for (index_t j = 0; j < width; ++j) now[j] *= emitted[j];
        }
        const double sum = total_of<K>(now, width);
        sums[t] = sum;
        if (!(sum >= tiny)) return t;
        const double inverse = 1.0 / sum;
        for (index_t j = 0; j < width; ++j) now[j] *= inverse;
    }
    return last;
}

// One step back (bounded, so that a state of probability zero stays one): later IN g_{t+1}, OUT g_t; moves += f_t e_{t+1} g_{t+1} / c_{t+1} (without A) where asked for.
template <int K>
ASSAY_INLINE void back_step(index_t states, const double* __restrict transitions, const double* __restrict emitted,
                            double inverse, const double* __restrict filtered, double* __restrict later,
                            double* __restrict moves, double* __restrict scratch) {
    const index_t width = K > 0 ? K : states;
    for (index_t j = 0; j < width; ++j) scratch[j] = std::min(emitted[j] * later[j] * inverse, 1e300);
    if (moves != nullptr)
        for (index_t i = 0; i < width; ++i)
            for (index_t j = 0; j < width; ++j) moves[i * width + j] += filtered[i] * scratch[j];
    // transitions here are A transposed: column by column, so that lanes run over i.
    for (index_t i = 0; i < width; ++i) later[i] = 0.0;
    for (index_t j = 0; j < width; ++j)
        for (index_t i = 0; i < width; ++i) later[i] += transitions[j * width + i] * scratch[j];
    for (index_t i = 0; i < width; ++i) later[i] = std::min(later[i], 1e290);
}

template <int K>
ASSAY_INLINE void backward_body(index_t n, index_t states, index_t k, index_t lag, const double* transposed,
                                const double* emissions, const double* filtered, const double* sums, double* smoothed,
                                double* moves, double* buffers) {
    const index_t width = K > 0 ? K : states;
    double local[K > 0 ? 2 * K : 1];
    double* const later = K > 0 ? local : buffers;
    double* const scratch = later + width;
    auto reset = [&] {
        for (index_t j = 0; j < width; ++j) later[j] = 1.0;
    };
    auto step = [&](index_t t, double* sums_of_moves) {
        back_step<K>(states, transposed, emissions + (t + 1) * width, 1.0 / sums[t + 1], filtered + t * width, later,
                     sums_of_moves, scratch);
    };
    auto write = [&](index_t t) {
        double total = 0.0;
        for (index_t j = 0; j < k; ++j) total += filtered[t * width + j] * later[j];
        const double inverse = 1.0 / total;
        for (index_t j = 0; j < k; ++j) smoothed[t * k + j] = filtered[t * width + j] * later[j] * inverse;
    };
    if (lag < 0) {
        reset();
        for (index_t t = n - 1; t >= 0; --t) {
            if (t < n - 1) step(t, moves);
            if (smoothed != nullptr) write(t);
            if (t % watch == 0 && interrupted()) return;
        }
        return;
    }
    for (index_t t = 0; t < n; ++t) {
        reset();
        for (index_t s = std::min(n - 1, t + lag) - 1; s >= t; --s) step(s, nullptr);
        write(t);
        if (t % 1024 == 0 && interrupted()) return;
    }
}

#define ASSAY_CHAIN(lanes)                                                                                             \
    ASSAY_DISPATCH(index_t, forward_##lanes, forward_body<lanes>,                                                      \
                   (index_t first, index_t last, index_t states, const double* start, const double* transitions,       \
                    const double* emissions, double* filtered, double* sums),                                          \
                   (first, last, states, start, transitions, emissions, filtered, sums))                               \
    ASSAY_DISPATCH(void, backward_##lanes, backward_body<lanes>,                                                       \
                   (index_t n, index_t states, index_t k, index_t lag, const double* transposed,                       \
                    const double* emissions, const double* filtered, const double* sums, double* smoothed,             \
                    double* moves, double* buffers),                                                                   \
                   (n, states, k, lag, transposed, emissions, filtered, sums, smoothed, moves, buffers))
ASSAY_CHAIN(4)
ASSAY_CHAIN(8)
ASSAY_CHAIN(16)
ASSAY_CHAIN(0)
#undef ASSAY_CHAIN

index_t forward(index_t first, index_t last, Work& work) {
    auto call = [&](auto body) {
        return body(first, last, work.width, work.start.data(), work.transitions.data(), work.emissions.data(),
                    work.filtered.data(), work.sums.data());
    };
    switch (work.width) {
        case 4: return call(forward_4);
        case 8: return call(forward_8);
        case 16: return call(forward_16);
        default: return call(forward_0);
    }
}

// Row t again with the shift taken over the states that can be reached; false if none can.
bool forward_reachable(index_t t, const double* logs, Work& work) {
    const index_t width = work.width, k = work.k;
    std::vector<double> reached(cells(width), 0.0);
    for (index_t j = 0; j < k; ++j) {
        if (t == 0) {
            reached[cells(j)] = work.start[cells(j)];
        } else {
            for (index_t i = 0; i < k; ++i)
                reached[cells(j)] += work.filtered[cells((t - 1) * width + i)] * work.transitions[cells(i * width + j)];
        }
    }
    double top = -infinity;
    for (index_t j = 0; j < k; ++j)
        if (reached[cells(j)] > 0.0) top = std::max(top, std::log(reached[cells(j)]) + logs[t * k + j]);
    if (top == -infinity) return false;
    double sum = 0.0;
    for (index_t j = 0; j < k; ++j) {
        // Emissions of states that cannot be reached are of no use and may overflow here.
        const double scaled = reached[cells(j)] > 0.0 ? std::exp(logs[t * k + j] - top) : 0.0;
        work.emissions[cells(t * width + j)] = scaled;
        work.filtered[cells(t * width + j)] = reached[cells(j)] * scaled;
        sum += reached[cells(j)] * scaled;
    }
    if (!(sum > 0.0) || !std::isfinite(sum)) return false;
    for (index_t j = 0; j < k; ++j) work.filtered[cells(t * width + j)] /= sum;
    work.sums[cells(t)] = sum;
    work.shifts[cells(t)] = top;
    return true;
}

// Chunks hold about the same number of sequences, and there are at most 64 of them.
index_t sequences_of_a_chunk(index_t sequences) { return std::max<index_t>(1, (sequences + 63) / 64); }

}  // namespace

void hmm_pass(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Chain& chain, const double* weights,
              index_t lag, const PassResult& out, int threads) {
    const index_t k = chain.k, sequences = offsets.size - 1, width = padded(k);
    const index_t grain = sequences_of_a_chunk(sequences), chunks = chunk_count(sequences, grain);
    const bool learn = out.moves != nullptr;
    std::vector<double> start_parts(learn ? cells(chunks * k) : 0), move_parts(learn ? cells(chunks * width * width) : 0);
    std::vector<double> transposed(cells(width * width), 0.0);
    for (index_t i = 0; i < k; ++i)
        for (index_t j = 0; j < k; ++j) transposed[cells(j * width + i)] = chain.transitions[i * k + j];

    parallel_chunks(sequences, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        Work work(chain);
        std::vector<double> buffers(cells(2 * width)), own;
        for (index_t s = begin; s < end && !interrupted(); ++s) {
            const index_t first = offsets[s], n = offsets[s + 1] - first;
            const double* const part = logs.data + first * k;
            work.resize(n);
            scale_emissions(part, n, k, width, work.emissions.data(), work.shifts.data());
            bool possible = true;
            for (index_t t = 0; t < n && possible && !interrupted();) {
                const index_t stop = std::min(n, t + watch), reached = forward(t, stop, work);
                t = reached;
                if (reached < stop) {
                    possible = forward_reachable(reached, part, work);
                    ++t;
                }
            }
            double total = possible ? 0.0 : -infinity;
            // Logarithms of products of sums, taken before a product could underflow.
            double product = 1.0;
            for (index_t t = 0; t < n && possible; ++t) {
                product *= work.sums[cells(t)];
                total += work.shifts[cells(t)];
                if (product < 1e-20 || product > 1e20) {
                    total += std::log(product);
                    product = 1.0;
                }
            }
            if (possible) total += std::log(product);
            out.log_likelihood[s] = total;
            if (!possible) continue;
            if (out.filtered != nullptr)
                for (index_t t = 0; t < n; ++t)
                    for (index_t j = 0; j < k; ++j)
                        out.filtered[(first + t) * k + j] = work.filtered[cells(t * width + j)];
            if (out.smoothed == nullptr && !learn) continue;
            double* smoothed = out.smoothed == nullptr ? nullptr : out.smoothed + first * k;
            if (smoothed == nullptr) {
                own.resize(cells(n * k));
                smoothed = own.data();
            }
            if (learn) std::fill(work.moves.begin(), work.moves.end(), 0.0);
            auto call = [&](auto body) {
                body(n, width, k, lag, transposed.data(), work.emissions.data(), work.filtered.data(), work.sums.data(),
                     smoothed, learn ? work.moves.data() : nullptr, buffers.data());
            };
            switch (width) {
                case 4: call(backward_4); break;
                case 8: call(backward_8); break;
                case 16: call(backward_16); break;
                default: call(backward_0);
            }
            if (!learn) continue;
            const double weight = weights == nullptr ? 1.0 : weights[s];
            for (index_t j = 0; j < k; ++j) start_parts[cells(chunk * k + j)] += weight * smoothed[j];
            for (index_t p = 0; p < width * width; ++p)
                move_parts[cells(chunk * width * width + p)] += weight * work.moves[cells(p)];
        }
    });
    if (!learn) return;
    std::fill(out.starts, out.starts + k, 0.0);
    std::fill(out.moves, out.moves + k * k, 0.0);
    for (index_t chunk = 0; chunk < chunks; ++chunk)
        for (index_t i = 0; i < k; ++i) {
            out.starts[i] += start_parts[cells(chunk * k + i)];
            for (index_t j = 0; j < k; ++j)
                out.moves[i * k + j] +=
                    move_parts[cells((chunk * width + i) * width + j)] * chain.transitions[i * k + j];
        }
}

void hmm_decode(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Chain& chain, std::int64_t* path,
                double* log_probability, int threads) {
    const index_t k = chain.k, sequences = offsets.size - 1;
    std::vector<double> start(cells(k)), transitions(cells(k * k));
    for (index_t j = 0; j < k; ++j) start[cells(j)] = std::log(chain.start[j]);
    for (index_t p = 0; p < k * k; ++p) transitions[cells(p)] = std::log(chain.transitions[p]);
    parallel_chunks(sequences, sequences_of_a_chunk(sequences), threads, [&](index_t, index_t begin, index_t end) {
        std::vector<double> before(cells(k)), now(cells(k));
        std::vector<std::int32_t> from;
        for (index_t s = begin; s < end && !interrupted(); ++s) {
            const index_t first = offsets[s], n = offsets[s + 1] - first;
            from.resize(cells(n * k));
            for (index_t t = 0; t < n; ++t) {
                if (t % watch == 0 && interrupted()) return;
                const double* const emitted = logs.data + (first + t) * k;
                if (t == 0) {
                    for (index_t j = 0; j < k; ++j) before[cells(j)] = start[cells(j)] + emitted[j];
                    continue;
                }
                std::int32_t* const origin = from.data() + t * k;
                for (index_t j = 0; j < k; ++j) {
                    now[cells(j)] = before[0] + transitions[cells(j)];
                    origin[j] = 0;
                }
                for (index_t i = 1; i < k; ++i)
                    for (index_t j = 0; j < k; ++j) {
                        const double candidate = before[cells(i)] + transitions[cells(i * k + j)];
                        const bool better = candidate > now[cells(j)];
                        now[cells(j)] = better ? candidate : now[cells(j)];
                        origin[j] = better ? static_cast<std::int32_t>(i) : origin[j];
                    }
                for (index_t j = 0; j < k; ++j) before[cells(j)] = now[cells(j)] + emitted[j];
            }
            index_t best = std::max_element(before.begin(), before.end()) - before.begin();
            log_probability[s] = before[cells(best)];
            for (index_t t = n - 1; t >= 0; --t) {
                path[first + t] = best;
                if (t > 0) best = from[cells(t * k + best)];
            }
        }
    });
}

}  // namespace assay::sequences
