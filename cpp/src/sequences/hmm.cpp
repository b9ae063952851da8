#include "assay/sequences/hmm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "assay/common/elementary.hpp"
#include "assay/common/threads.hpp"
#include "hmm_lanes.hpp"
#include "normal_tile.hpp"

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

#define ASSAY_GROUP(states)                                                                                            \
    ASSAY_DISPATCH(void, forward_group_##states, forward_group_body<states>, (const Group& group), (group))           \
    ASSAY_DISPATCH(void, backward_group_##states, backward_group_body<states>,                                        \
                   (const Group& group, double* smoothed, double* starts, double* moves, double* counts, Lanes* buffers), \
                   (group, smoothed, starts, moves, counts, buffers))
ASSAY_GROUP(4)
ASSAY_GROUP(8)
ASSAY_GROUP(0)
#undef ASSAY_GROUP
ASSAY_DISPATCH(void, gather_group, gather_group_body, (const Group& group, const double* logs), (group, logs))
ASSAY_DISPATCH(void, scale_group, scale_group_body, (const Group& group, double* shifts), (group, shifts))

constexpr index_t most_group_cells = index_t{1} << 23;  // of emissions: longer sequences go one by one

// Sequences in an order in which eight that stand together are of like length, the longest first.
std::vector<index_t> by_length(Vector<const std::int64_t> offsets) {
    std::vector<index_t> order(cells(offsets.size - 1));
    for (index_t s = 0; s + 1 < offsets.size; ++s) order[cells(s)] = s;
    std::stable_sort(order.begin(), order.end(), [&](index_t a, index_t b) {
        return offsets[a + 1] - offsets[a] > offsets[b + 1] - offsets[b];
    });
    return order;
}

// Log likelihood from the sums of rows and what was taken off the emissions; false where a sum is too small to go on with.
// Logarithms are taken of products of sums, before a product could underflow.
bool log_likelihood_of(const double* sums, index_t stride, index_t n, double shift, double& total) {
    double product = 1.0;
    total = shift;
    for (index_t t = 0; t < n; ++t) {
        const double sum = sums[t * stride];
        if (!(sum >= tiny)) return false;
        product *= sum;
        if (product < 1e-20 || product > 1e20) {
            total += std::log(product);
            product = 1.0;
        }
    }
    total += std::log(product);
    return true;
}

// Chunks hold about the same number of groups, and there are at most 64 of them.
index_t groups_of_a_chunk(index_t groups) { return std::max<index_t>(1, (groups + 63) / 64); }

// What a chunk of sequences adds to the expected counts.
struct Parts {
    std::vector<double> starts, moves, counts;  // k, width x width, symbols x k
    std::vector<double> moments;                // of rows of normal distributions
};

// Sequences one by one; `order` names those of the chunk.
class Single {
public:
    Single(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Symbols& symbols, const Chain& chain,
           const Normals* normals, const double* weights, index_t lag, const PassResult& out)
        : logs_(logs), offsets_(offsets), symbols_(symbols), normals_(normals), weights_(weights), lag_(lag), out_(out),
          work_(chain),
          transposed_(cells(work_.width * work_.width), 0.0), buffers_(cells(2 * work_.width)) {
        for (index_t i = 0; i < chain.k; ++i)
            for (index_t j = 0; j < chain.k; ++j)
                transposed_[cells(j * work_.width + i)] = chain.transitions[i * chain.k + j];
    }

    void pass(index_t s, Parts* parts) {
        const index_t k = work_.k, width = work_.width, first = offsets_[s], n = offsets_[s + 1] - first;
        const double* const part = rows_of(first, n);
        work_.resize(n);
        scale_emissions(part, n, k, width, work_.emissions.data(), work_.shifts.data());
        bool possible = true;
        for (index_t t = 0; t < n && possible && !interrupted();) {
            const index_t stop = std::min(n, t + watch), reached = forward(t, stop, work_);
            t = reached;
            if (reached < stop) {
                possible = forward_reachable(reached, part, work_);
                ++t;
            }
        }
        if (interrupted()) return;
        out_.log_likelihood[s] = possible ? likelihood(n) : -infinity;
        if (!possible) return;
        if (out_.filtered != nullptr)
            for (index_t t = 0; t < n; ++t)
                for (index_t j = 0; j < k; ++j) out_.filtered[(first + t) * k + j] = work_.filtered[cells(t * width + j)];
        if (out_.smoothed == nullptr && parts == nullptr) return;
        double* smoothed = out_.smoothed == nullptr ? nullptr : out_.smoothed + first * k;
        if (smoothed == nullptr) {
            own_.resize(cells(n * k));
            smoothed = own_.data();
        }
        if (parts != nullptr) std::fill(work_.moves.begin(), work_.moves.end(), 0.0);
        auto call = [&](auto body) {
            body(n, width, k, lag_, transposed_.data(), work_.emissions.data(), work_.filtered.data(), work_.sums.data(),
                 smoothed, parts != nullptr ? work_.moves.data() : nullptr, buffers_.data());
        };
        switch (width) {
            case 4: call(backward_4); break;
            case 8: call(backward_8); break;
            case 16: call(backward_16); break;
            default: call(backward_0);
        }
        if (parts == nullptr) return;
        const double weight = weights_ == nullptr ? 1.0 : weights_[s];
        for (index_t j = 0; j < k; ++j) parts->starts[cells(j)] += weight * smoothed[j];
        for (index_t i = 0; i < k; ++i)
            for (index_t j = 0; j < k; ++j) parts->moves[cells(i * k + j)] += weight * work_.moves[cells(i * width + j)];
        if (!parts->counts.empty())
            for (index_t t = 0; t < n; ++t)
                for (index_t j = 0; j < k; ++j)
                    parts->counts[cells(symbols_.row(first + t) * k + j)] += weight * smoothed[t * k + j];
        if (normals_ != nullptr) {
            NormalTile tile(*normals_, k);
            for (index_t t = 0; t < n; t += NormalTile::rows) {
                const index_t count = std::min(NormalTile::rows, n - t);
                tile.set_shares(count, [&](index_t row, index_t j) { return weight * smoothed[(t + row) * k + j]; });
                tile.add_moments(first + t, count, parts->moments.data());
            }
        }
    }

private:
    // Log densities of a sequence's rows: as they came, or of its symbols.
    const double* rows_of(index_t first, index_t n) {
        const index_t k = work_.k;
        if (symbols_.codes == nullptr && normals_ == nullptr) return logs_.data + first * k;
        looked_up_.resize(cells(n * k));
        if (normals_ != nullptr) {
            NormalTile tile(*normals_, k);
            for (index_t t = 0; t < n; t += NormalTile::rows)
                tile.logs(first + t, std::min(NormalTile::rows, n - t),
                          [&](index_t row, index_t j, double value) { looked_up_[cells((t + row) * k + j)] = value; });
            return looked_up_.data();
        }
        for (index_t t = 0; t < n; ++t)
            std::copy_n(logs_.data + symbols_.row(first + t) * k, k, looked_up_.data() + t * k);
        return looked_up_.data();
    }
    double likelihood(index_t n) const {
        // A row that was taken again may have any sum: its logarithm is taken alone.
        double total = 0.0, product = 1.0;
        for (index_t t = 0; t < n; ++t) {
            product *= work_.sums[cells(t)];
            total += work_.shifts[cells(t)];
            if (product < 1e-20 || product > 1e20) {
                total += std::log(product);
                product = 1.0;
            }
        }
        return total + std::log(product);
    }

    Matrix<const double> logs_;
    Vector<const std::int64_t> offsets_;
    const Symbols& symbols_;
    const Normals* normals_;
    const double* weights_;
    index_t lag_;
    const PassResult& out_;
    Work work_;
    std::vector<double> transposed_, buffers_, own_, looked_up_;
};

// Sequences eight at a time.
class Eight {
public:
    Eight(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Symbols& symbols, const Chain& chain,
          const Normals* normals, const double* weights, const PassResult& out)
        : logs_(logs), offsets_(offsets), symbols_(symbols), normals_(normals), weights_(weights), out_(out),
          width_(width_of(chain.k)), start_(cells(width_), 0.0), transitions_(cells(width_ * width_), 0.0),
          buffers_(cells((2 * width_ + width_ * width_) * lanes)), moves_(cells(width_ * width_)) {
        group_.k = chain.k;
        group_.width = width_;
        group_.symbols = symbols;
        for (index_t i = 0; i < chain.k; ++i) {
            start_[cells(i)] = chain.start[i];
            for (index_t j = 0; j < chain.k; ++j) transitions_[cells(i * width_ + j)] = chain.transitions[i * chain.k + j];
        }
        if (symbols.codes != nullptr) scale_table();
    }
    static index_t width_of(index_t k) { return k <= 4 ? 4 : k <= 8 ? 8 : k; }

    // False if some sequence needs steps taken again: then nothing was written.
    bool pass(const index_t* order, index_t count, Parts* parts) {
        set_group(order, count);
        const index_t row = width_ * lanes, segments = (group_.steps + segment - 1) / segment;
        const std::size_t need = cells((std::min(segment, group_.steps) + 1) * row);
        if (emissions_.size() < need) {
            emissions_.resize(need);
            filtered_.resize(need);
        }
        if (sums_.size() < cells(group_.steps * lanes)) sums_.resize(cells(group_.steps * lanes));
        if (kept_.size() < cells(segments * row)) kept_.resize(cells(segments * row));
        group_.start = start_.data();
        group_.transitions = transitions_.data();
        group_.emissions = emissions_.data();
        group_.filtered = filtered_.data();
        group_.sums = sums_.data();
        double shifts[lanes] = {}, totals[lanes];
        for (index_t part = 0; part < segments; ++part) {
            forward(part, shifts);
            const double* const last = filtered_.data() + (group_.end - group_.begin) * row;
            std::copy_n(last, row, filtered_.data());
            std::copy_n(last, row, kept_.data() + part * row);
            if (out_.filtered != nullptr) write_filtered(count);
        }
        for (index_t lane = 0; lane < count; ++lane)
            if (!log_likelihood_of(sums_.data() + lane, lanes, group_.ends[lane], shifts[lane], totals[lane])) return false;
        for (index_t lane = 0; lane < count; ++lane) out_.log_likelihood[order[lane]] = totals[lane];
        if (out_.smoothed == nullptr && parts == nullptr) return true;
        std::fill(moves_.begin(), moves_.end(), 0.0);
        for (index_t part = segments - 1; part >= 0; --part) {
            if (part < segments - 1) {
                // The first emissions of the later segment are the step after this one.
                std::copy_n(emissions_.data(), row, emissions_.data() + segment * row);
                if (part > 0) std::copy_n(kept_.data() + (part - 1) * row, row, filtered_.data());
                double again[lanes] = {};
                forward(part, again);
            }
            backward(parts);
            if (normals_ != nullptr) add_moments(count, parts);
        }
        if (parts != nullptr)
            for (index_t i = 0; i < group_.k; ++i)
                for (index_t j = 0; j < group_.k; ++j)
                    parts->moves[cells(i * group_.k + j)] += moves_[cells(i * width_ + j)];
        return true;
    }

private:
    // A segment's emissions and filtered states; the step before it stands in the first row of filtered_.
    void forward(index_t part, double* shifts) {
        group_.begin = part * segment;
        group_.end = std::min(group_.begin + segment, group_.steps);
        if (symbols_.codes != nullptr) {
            look_up(shifts);
        } else {
            normals_ != nullptr ? normal_logs() : gather_group(group_, logs_.data);
            scale_group(group_, shifts);
        }
        switch (width_) {
            case 4: forward_group_4(group_); break;
            case 8: forward_group_8(group_); break;
            default: forward_group_0(group_);
        }
    }
    void backward(Parts* parts) {
        auto call = [&](auto body) {
            body(group_, out_.smoothed, parts == nullptr ? nullptr : parts->starts.data(),
                 parts == nullptr ? nullptr : moves_.data(),
                 parts == nullptr || parts->counts.empty() ? nullptr : parts->counts.data(),
                 reinterpret_cast<Lanes*>(buffers_.data()));
        };
        switch (width_) {
            case 4: call(backward_group_4); break;
            case 8: call(backward_group_8); break;
            default: call(backward_group_0);
        }
    }
    // Calls work(lane, step in the segment, rows) for the rows of the segment, a tile at a time.
    template <class Work>
    void by_tiles(index_t count, Work&& work) {
        for (index_t lane = 0; lane < count; ++lane) {
            const index_t steps = std::min(group_.end, group_.ends[lane]) - group_.begin;
            for (index_t t = 0; t < steps; t += NormalTile::rows) work(lane, t, std::min(NormalTile::rows, steps - t));
        }
    }
    void normal_logs() {
        NormalTile tile(*normals_, group_.k);
        std::fill(emissions_.begin(), emissions_.begin() + (group_.end - group_.begin) * width_ * lanes, 0.0);
        by_tiles(lanes, [&](index_t lane, index_t t, index_t rows) {
            tile.logs(group_.first[lane] + group_.begin + t, rows, [&](index_t row, index_t j, double value) {
                emissions_[cells(((t + row) * width_ + j) * lanes + lane)] = value;
            });
        });
    }
    void add_moments(index_t count, Parts* parts) {
        NormalTile tile(*normals_, group_.k);
        by_tiles(count, [&](index_t lane, index_t t, index_t rows) {
            tile.set_shares(rows, [&](index_t row, index_t j) {
                return group_.weights[lane] * filtered_[cells(((t + row + 1) * width_ + j) * lanes + lane)];
            });
            tile.add_moments(group_.first[lane] + group_.begin + t, rows, parts->moments.data());
        });
    }
    void set_group(const index_t* order, index_t count) {
        group_.steps = 0;
        group_.shortest = count == lanes ? std::numeric_limits<index_t>::max() : 0;
        for (index_t lane = 0; lane < lanes; ++lane) {
            const index_t s = lane < count ? order[lane] : 0;
            group_.first[lane] = offsets_[s];
            group_.ends[lane] = lane < count ? offsets_[s + 1] - offsets_[s] : 0;
            group_.weights[lane] = lane < count ? (weights_ == nullptr ? 1.0 : weights_[s]) : 0.0;
            group_.steps = std::max(group_.steps, group_.ends[lane]);
            group_.shortest = std::min(group_.shortest, group_.ends[lane]);
        }
    }
    // Emissions of every symbol, scaled by their largest.
    void scale_table() {
        const index_t k = group_.k;
        table_.assign(cells(symbols_.count * k), 0.0);
        tops_.resize(cells(symbols_.count));
        for (index_t s = 0; s < symbols_.count; ++s) {
            const double* const own = logs_.data + s * k;
            const double top = *std::max_element(own, own + k);
            tops_[cells(s)] = top == -infinity ? 0.0 : top;
            for (index_t j = 0; j < k; ++j) table_[cells(s * k + j)] = std::exp(own[j] - tops_[cells(s)]);
        }
    }
    void look_up(double* shifts) {
        const index_t k = group_.k;
        for (index_t t = group_.begin; t < group_.end; ++t) {
            double* const row = emissions_.data() + (t - group_.begin) * width_ * lanes;
            for (index_t lane = 0; lane < lanes; ++lane) {
                const bool here = t < group_.ends[lane];
                const index_t code = here ? symbols_.row(group_.first[lane] + t) : 0;
                const double* const own = table_.data() + code * k;
                if (here) shifts[lane] += tops_[cells(code)];
                for (index_t j = 0; j < k; ++j) row[j * lanes + lane] = here ? own[j] : 1.0;
                for (index_t j = k; j < width_; ++j) row[j * lanes + lane] = 0.0;
            }
        }
    }
    void write_filtered(index_t count) {
        for (index_t lane = 0; lane < count; ++lane)
            for (index_t t = group_.begin; t < std::min(group_.end, group_.ends[lane]); ++t)
                for (index_t j = 0; j < group_.k; ++j)
                    out_.filtered[(group_.first[lane] + t) * group_.k + j] =
                        filtered_[cells(((t - group_.begin + 1) * width_ + j) * lanes + lane)];
    }

    Matrix<const double> logs_;
    Vector<const std::int64_t> offsets_;
    const Symbols& symbols_;
    const Normals* normals_;
    const double* weights_;
    const PassResult& out_;
    index_t width_;
    std::vector<double> start_, transitions_, buffers_, moves_, emissions_, filtered_, kept_, sums_, table_, tops_;
    Group group_;
};

// Memory that chunks use one after the other, one for each that runs at a time; it bears nothing from chunk to chunk.
struct Spaces {
    Single single;
    Eight eight;
    Spaces(Single one, Eight several) : single(std::move(one)), eight(std::move(several)) {}
};
class Pool {
public:
    template <class Make>
    std::unique_ptr<Spaces> take(Make&& make) {
        {
            const std::lock_guard<std::mutex> guard(mutex_);
            if (!free_.empty()) {
                auto space = std::move(free_.back());
                free_.pop_back();
                return space;
            }
        }
        return make();
    }
    void put(std::unique_ptr<Spaces> space) {
        const std::lock_guard<std::mutex> guard(mutex_);
        free_.push_back(std::move(space));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Spaces>> free_;
};

}  // namespace

void hmm_pass(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Symbols& symbols, const Chain& chain,
              const double* weights, index_t lag, const PassResult& out, int threads, const Normals* normals) {
    const index_t k = chain.k, sequences = offsets.size - 1;
    const index_t groups = (sequences + lanes - 1) / lanes;
    const index_t grain = groups_of_a_chunk(groups), chunks = chunk_count(groups, grain);
    const bool learn = out.moves != nullptr;
    const std::vector<index_t> order = by_length(offsets);
    std::vector<Parts> parts(learn ? cells(chunks) : 0);
    Pool spaces;
    parallel_chunks(groups, grain, threads, [&](index_t chunk, index_t begin, index_t end) {
        Parts* const own = learn ? &parts[cells(chunk)] : nullptr;
        if (own != nullptr) {
            own->starts.assign(cells(k), 0.0);
            own->moves.assign(cells(k * k), 0.0);
            if (out.counts != nullptr) own->counts.assign(cells(symbols.count * k), 0.0);
            if (normals != nullptr) own->moments.assign(cells(NormalTile::moments_of(*normals, k)), 0.0);
        }
        auto space = spaces.take([&] {
            return std::make_unique<Spaces>(Single(logs, offsets, symbols, chain, normals, weights, lag, out),
                                            Eight(logs, offsets, symbols, chain, normals, weights, out));
        });
        auto& [single, eight] = *space;
        for (index_t g = begin; g < end && !interrupted(); ++g) {
            const index_t* const members = order.data() + g * lanes;
            const index_t count = std::min(lanes, sequences - g * lanes);
            const index_t longest = offsets[members[0] + 1] - offsets[members[0]];
            const bool together = lag < 0 && count > 1 && longest * Eight::width_of(k) * lanes <= most_group_cells;
            if (together && eight.pass(members, count, own)) continue;
            for (index_t m = 0; m < count && !interrupted(); ++m) single.pass(members[m], own);
        }
        spaces.put(std::move(space));
    });
    if (!learn || interrupted()) return;
    std::fill(out.starts, out.starts + k, 0.0);
    std::fill(out.moves, out.moves + k * k, 0.0);
    if (out.counts != nullptr) std::fill(out.counts, out.counts + symbols.count * k, 0.0);
    if (normals != nullptr) std::fill(out.moments, out.moments + NormalTile::moments_of(*normals, k), 0.0);
    for (const Parts& part : parts) {
        for (index_t i = 0; i < k; ++i) out.starts[i] += part.starts[cells(i)];
        for (index_t p = 0; p < k * k; ++p) out.moves[p] += part.moves[cells(p)] * chain.transitions[p];
        for (std::size_t p = 0; p < part.counts.size(); ++p) out.counts[p] += part.counts[p];
        for (std::size_t p = 0; p < part.moments.size(); ++p) out.moments[p] += part.moments[p];
    }
}

void hmm_decode(Matrix<const double> logs, Vector<const std::int64_t> offsets, const Chain& chain, std::int64_t* path,
                double* log_probability, int threads) {
    const index_t k = chain.k, sequences = offsets.size - 1;
    std::vector<double> start(cells(k)), transitions(cells(k * k));
    for (index_t j = 0; j < k; ++j) start[cells(j)] = std::log(chain.start[j]);
    for (index_t p = 0; p < k * k; ++p) transitions[cells(p)] = std::log(chain.transitions[p]);
    parallel_chunks(sequences, groups_of_a_chunk(sequences), threads, [&](index_t, index_t begin, index_t end) {
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
