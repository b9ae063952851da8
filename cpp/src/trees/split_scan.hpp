// The best boundary of one sorted segment, for any criterion. One scanner per thread; it owns the buffers.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "assay/common/simd.hpp"
#include "criteria.hpp"
#include "entries.hpp"

namespace assay::trees {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A candidate: the first `position` present entries go left. `cost` orders candidates, `tie` settles equal costs.
struct Candidate {
    double cost = infinity, tie = infinity;
    index_t position = -1;
    bool missing_left = false;

    bool better_than(const Candidate& other) const {
        return cost < other.cost || (cost == other.cost && tie < other.tie);
    }
};

// As many boundaries at a time as a vector of the registers holds. Vector types say what automatic vectorisation does not
// find here; each lane does the same operations as the scalar tail, so every instruction set gives the same bits.
template <int W>
struct Side {
    typedef double Doubles __attribute__((vector_size(W * 8)));
    typedef std::int64_t Longs __attribute__((vector_size(W * 8)));
    typedef std::int32_t Ints __attribute__((vector_size(W * 4)));
    typedef std::int16_t Shorts __attribute__((vector_size(W * 2)));
};

template <class V, class T>
ASSAY_INLINE void load(V& vector, const T* from) {
    static_assert(sizeof(V) % sizeof(T) == 0);
    std::memcpy(&vector, from, sizeof(V));
}
// Whether the value changes between entries i and i + 1, for W of them: the highest bit of the later one says so.
template <int W>
ASSAY_INLINE void boundaries(typename Side<W>::Longs& changes, const Wide* e) {
    typename Side<W>::Ints next;
    load(next, e + 1);
    changes = __builtin_convertvector(next < 0, typename Side<W>::Longs);
}
template <int W>
ASSAY_INLINE void boundaries(typename Side<W>::Longs& changes, const Narrow* e) {
    typename Side<W>::Shorts next;
    load(next, e + 1);
    changes = __builtin_convertvector(next < 0, typename Side<W>::Longs);
}
// Stores the scores of W boundaries, minus infinity where the value does not change, and keeps the largest.
template <int W, class Entry>
ASSAY_INLINE void keep(const typename Side<W>::Doubles& score, const Entry* e, double* scores,
                       typename Side<W>::Doubles& best) {
    typename Side<W>::Longs changes;
    boundaries<W>(changes, e);
    const typename Side<W>::Doubles none = typename Side<W>::Doubles{} - infinity, kept = changes ? score : none;
    std::memcpy(scores, &kept, sizeof(kept));
    best = kept > best ? kept : best;
}
template <int W>
ASSAY_INLINE double largest(const typename Side<W>::Doubles& best, double rest) {
    for (int j = 0; j < W; ++j) rest = best[j] > rest ? best[j] : rest;
    return rest;
}
template <int W>
ASSAY_INLINE void positions_from(index_t i, typename Side<W>::Doubles& position) {
    for (int j = 0; j < W; ++j) position[j] = j + 1;
    position += static_cast<double>(i);
}

// The scores of the boundaries lo..hi-1 (boundary i lies after entry i); returns the largest. The ratio criteria score
// A/w_L + B/w_R over one denominator: whole weights make every term but the quotient exact.
template <int W, class Entry>
ASSAY_INLINE double ratio_scores_body(const double* a, const double* b, const double* w, double w0, double total,
                                      const Entry* e, index_t lo, index_t hi, double* scores) {
    using Doubles = typename Side<W>::Doubles;
    Doubles best = Doubles{} - infinity;
    index_t i = lo;
    for (; i + W <= hi; i += W) {
        Doubles left, right, wl;
        load(left, a + i);
        load(right, b + i);
        if (w != nullptr) {
            load(wl, w + i);
        } else {
            positions_from<W>(i, wl);
            wl += w0;
        }
        const Doubles wr = total - wl;
        keep<W>((left * wr + right * wl) / (wl * wr), e + i, scores + i, best);
    }
    double rest = -infinity;
    for (; i < hi; ++i) {
        const double wl = w != nullptr ? w[i] : w0 + static_cast<double>(i + 1), wr = total - wl;
        const double score = (a[i] * wr + b[i] * wl) / (wl * wr);
        scores[i] = is_fresh(e[i + 1]) ? score : -infinity;
        rest = scores[i] > rest ? scores[i] : rest;
    }
    return largest<W>(best, rest);
}
// The same for gini with the pairs of two classes, from their running sum.
template <int W, class Entry>
ASSAY_INLINE double pair_scores_body(const std::int32_t* pairs, double w0, double ones0, double total, double all_ones,
                                     const Entry* e, index_t lo, index_t hi, double* scores) {
    using Doubles = typename Side<W>::Doubles;
    Doubles best = Doubles{} - infinity;
    index_t i = lo;
    for (; i + W <= hi; i += W) {
        typename Side<W>::Ints counted;
        load(counted, pairs + i);
        const typename Side<W>::Ints all = counted & static_cast<std::int32_t>(first_field), ones = counted >> second_class;
        const Doubles wl = __builtin_convertvector(all, Doubles) + w0, l1 = __builtin_convertvector(ones, Doubles) + ones0;
        const Doubles wr = total - wl, l0 = wl - l1;
        const Doubles r1 = all_ones - l1, r0 = wr - r1;
        keep<W>(((l1 * l1 + l0 * l0) * wr + (r1 * r1 + r0 * r0) * wl) / (wl * wr), e + i, scores + i, best);
    }
    double rest = -infinity;
    for (; i < hi; ++i) {
        const double wl = w0 + static_cast<double>(pairs[i] & static_cast<std::int32_t>(first_field)), wr = total - wl;
        const double l1 = ones0 + static_cast<double>(pairs[i] >> second_class), l0 = wl - l1;
        const double r1 = all_ones - l1, r0 = wr - r1;
        const double score = ((l1 * l1 + l0 * l0) * wr + (r1 * r1 + r0 * r0) * wl) / (wl * wr);
        scores[i] = is_fresh(e[i + 1]) ? score : -infinity;
        rest = scores[i] > rest ? scores[i] : rest;
    }
    return largest<W>(best, rest);
}

ASSAY_DISPATCH_EACH(double, ratio_scores, (ratio_scores_body<8>), (ratio_scores_body<4>), (ratio_scores_body<4>),
               (const double* a, const double* b, const double* w, double w0, double total, const Wide* e, index_t lo,
                index_t hi, double* scores),
               (a, b, w, w0, total, e, lo, hi, scores))
ASSAY_DISPATCH_EACH(double, ratio_scores, (ratio_scores_body<8>), (ratio_scores_body<4>), (ratio_scores_body<4>),
               (const double* a, const double* b, const double* w, double w0, double total, const Narrow* e, index_t lo,
                index_t hi, double* scores),
               (a, b, w, w0, total, e, lo, hi, scores))
ASSAY_DISPATCH_EACH(double, pair_scores, (pair_scores_body<8>), (pair_scores_body<4>), (pair_scores_body<4>),
               (const std::int32_t* pairs, double w0, double ones0, double total, double all_ones, const Wide* e,
                index_t lo, index_t hi, double* scores),
               (pairs, w0, ones0, total, all_ones, e, lo, hi, scores))
ASSAY_DISPATCH_EACH(double, pair_scores, (pair_scores_body<8>), (pair_scores_body<4>), (pair_scores_body<4>),
               (const std::int32_t* pairs, double w0, double ones0, double total, double all_ones, const Narrow* e,
                index_t lo, index_t hi, double* scores),
               (pairs, w0, ones0, total, all_ones, e, lo, hi, scores))

// What every scan of one node shares.
struct NodeTotals {
    const double* value = nullptr;  // class weights or sums of the node, as `summarise` leaves them
    double weight = 0, repeats = 0;
    double min_leaf = 1, min_weight_leaf = 0;
};

template <class Policy>
class Scanner {
public:
    // Ratio criteria are scanned in blocks, whose prefix sums and scores stay in cache.
    static constexpr index_t block = 1024;
    // Up to so many classes are counted in one register, of so many bits each.
    static constexpr int few = 5, field = 12;

    void reserve(index_t n, const Samples& data) {
        const auto size = static_cast<std::size_t>(Policy::is_ratio ? block : n) + 8;
        if (scores_.size() >= size) return;
        scores_.resize(size);
        if constexpr (Policy::is_ratio) {
            a_.resize(size);
            b_.resize(size);
            pairs_.resize(size);
            if (data.weight != nullptr || is_second_order<Policy>) w_.resize(size);
        }
    }

    // The best boundary of `segment` (n entries in order, the missing ones last); `bar` need not be beaten in cost, but
    // a position is only looked up for a candidate that is better than it.
    template <class Entry>
    Candidate scan(const Samples& data, const NodeTotals& node, const Entry* segment, index_t n, const Candidate& bar) {
        const index_t missing = count_missing(segment, n), present = n - missing;
        Candidate best;
        run(data, node, segment, missing > 0 ? present : n - 1, n, static_cast<const Entry*>(nullptr), 0, bar,
            best);
        if (missing > 0) run(data, node, segment, present - 1, present, segment + present, missing, bar, best);
        return best;
    }

private:
    // Boundaries 0..last-1 of the first `n` entries, with `extra` rows on the left from the start.
    template <class Entry>
    void run(const Samples& data, const NodeTotals& node, const Entry* e, index_t last, index_t n, const Entry* extra,
             index_t n_extra, const Candidate& bar, Candidate& best) {
        index_t lo = 0, hi = last;
        narrow(data, node, e, extra, n_extra, lo, hi);
        if (lo >= hi) return;
        reserve(n, data);
        if constexpr (Policy::is_ratio) {
            run_ratio(data, node, e, lo, hi, extra, n_extra, bar, best);
        } else {
            run_accumulated(data, e, lo, hi, n, extra, n_extra, best);
        }
    }

    // Keeps the boundaries that leave enough rows and weight on both sides; the left side only grows with i.
    template <class Entry>
    static void narrow(const Samples& data, const NodeTotals& node, const Entry* e, const Entry* extra, index_t n_extra,
                       index_t& lo, index_t& hi) {
        const double min_weight = is_second_order<Policy> ? -infinity : node.min_weight_leaf;  // see narrow_hessian
        if (node.min_leaf <= 1 && min_weight <= 0) return;
        double repeats = 0, weight = 0;
        for (index_t i = 0; i < n_extra; ++i) {
            repeats += data.repeat_of(row_of(extra[i]));
            weight += data.weight_of(row_of(extra[i]));
        }
        const index_t end = hi;
        lo = hi = end;
        for (index_t i = 0; i < end; ++i) {
            repeats += data.repeat_of(row_of(e[i]));
            weight += data.weight_of(row_of(e[i]));
            if (lo == end && repeats >= node.min_leaf && weight >= min_weight) lo = i;
            if (node.repeats - repeats < node.min_leaf || node.weight - weight < min_weight) {
                hi = i;
                break;
            }
        }
    }

    template <class Entry>
    void run_ratio(const Samples& data, const NodeTotals& node, const Entry* e, index_t lo, index_t hi,
                   const Entry* extra, index_t n_extra, const Candidate& bar, Candidate& best) {
        start(data, node, extra, n_extra);
        double top = -infinity;
        index_t position = -1;
        for (index_t begin = 0; begin < hi; begin += block) {
            const index_t size = std::min(block, hi - begin);
            index_t first = std::max<index_t>(lo - begin, 0);
            const double highest = score_block(data, node, e + begin, first, size, begin + n_extra);
            if (!(highest > top)) continue;
            top = highest;
            position = first;
            while (scores_[static_cast<std::size_t>(position)] != top) ++position;
            position += begin + 1;
        }
        if (!(top > -infinity) || !(-top < best.cost)) return;
        best.cost = -top;
        best.tie = 0;
        best.missing_left = n_extra > 0;
        best.position = best.cost < bar.cost ? position : -1;
    }

    // The left part at the start of a scan: the rows of `extra`.
    template <class Entry>
    void start(const Samples& data, const NodeTotals& node, const Entry* extra, index_t n_extra) {
        left_weight_ = is_second_order<Policy> ? data.l2 : 0.0;
        count_ = 0;
        sum_ = sq_left_ = sq_right_ = 0;
        if (Policy::classifies ? data.pair == nullptr : !is_second_order<Policy> && data.outputs > 1)
            left_.assign(static_cast<std::size_t>(Policy::classifies ? data.n_classes : data.outputs), 0.0);
        if (Policy::classifies && data.pair == nullptr) {
            right_.assign(node.value, node.value + data.n_classes);
            for (const double weight : right_) sq_right_ += weight * weight;
        }
        for (index_t i = 0; i < n_extra; ++i) move(data, row_of(extra[i]));
    }

    // One row more on the left.
    void move(const Samples& data, index_t row) {
        if constexpr (is_second_order<Policy>) {
            sum_ += data.search[2 * row];
            left_weight_ += data.search[2 * row + 1];
        } else if constexpr (Policy::classifies) {
            if (data.pair != nullptr) return add_pairs(data.pair[row]);
            const auto c = static_cast<std::size_t>(data.label[row]);
            const double w = data.weight_of(row);
            sq_left_ += w * (2 * left_[c] + w);
            left_[c] += w;
            sq_right_ -= w * (2 * right_[c] - w);
            right_[c] -= w;
            left_weight_ += w;
        } else {
            const double w = data.weight_of(row);
            left_weight_ += w;
            if (data.outputs == 1) sum_ += w * data.search[row];
            for (index_t o = 0; o < data.outputs && data.outputs > 1; ++o)
                left_[static_cast<std::size_t>(o)] += w * data.search[row * data.outputs + o];
        }
    }
    void add_pairs(std::uint32_t sum) {
        count_ += sum >> second_class;
        left_weight_ += static_cast<double>(sum & first_field);
    }

    // Moves the `size` rows of a block to the left one after the other and scores the boundaries from `lo` on, which it raises
    // to the first that is scored; `before` rows are there already. Returns the highest score.
    template <class Entry>
    double score_block(const Samples& data, const NodeTotals& node, const Entry* e, index_t& lo, index_t size, index_t before) {
        const double w0 = static_cast<double>(before);
        double total = node.weight;
        index_t hi = size;
        if constexpr (is_second_order<Policy>) {
            prefix_gradients(data, node, e, size);
            total += 2 * data.l2;
            narrow_hessian(data, node, total, lo, hi);
        } else if constexpr (Policy::classifies) {
            if (data.pair != nullptr) {
                static_assert(block * most_in_pair < 1 << (second_class - 1));
                std::uint32_t sum = 0;
                for (index_t i = 0; i < size; ++i) {
                    sum += data.pair[row_of(e[i])];
                    pairs_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(sum);
                }
                const double weight = left_weight_, ones = static_cast<double>(count_);
                add_pairs(sum);
                if (lo >= hi) return -infinity;
                return pair_scores(pairs_.data(), weight, ones, total, node.value[1], e, lo, hi, scores_.data());
            }
            prefix_classes(data, e, size);
        } else {
            prefix_sums(data, node, e, size);
        }
        if (lo >= hi) return -infinity;
        const double* w = data.weight != nullptr || is_second_order<Policy> ? w_.data() : nullptr;
        return ratio_scores(a_.data(), b_.data(), w, is_second_order<Policy> ? 0.0 : w0, total, e, lo, hi, scores_.data());
    }

    template <class Entry>
    void prefix_classes(const Samples& data, const Entry* e, index_t size) {
        if (data.weight != nullptr) return prefix_classes(data, e, size, [&](index_t row) { return data.weight[row]; });
        if (data.n_classes <= few) return prefix_few_classes(data, e, size);
        prefix_classes(data, e, size, [](index_t) { return 1.0; });
    }

    template <class Entry, class WeightOf>
    void prefix_classes(const Samples& data, const Entry* e, index_t size, WeightOf weight_of) {
        double *left = left_.data(), *right = right_.data(), sq_left = sq_left_, sq_right = sq_right_, weight = left_weight_;
        for (index_t i = 0; i < size; ++i) {
            const index_t row = row_of(e[i]);
            const std::int32_t c = data.label[row];
            const double w = weight_of(row);
            sq_left += w * (2 * left[c] + w);
            left[c] += w;
            sq_right -= w * (2 * right[c] - w);
            right[c] -= w;
            weight += w;
            a_[static_cast<std::size_t>(i)] = sq_left;
            b_[static_cast<std::size_t>(i)] = sq_right;
            if (data.weight != nullptr) w_[static_cast<std::size_t>(i)] = weight;
        }
        sq_left_ = sq_left;
        sq_right_ = sq_right;
        left_weight_ = weight;
    }

    // The same for few classes: how many rows of each the block has moved stands in one register, a field of it for each, as
    // sums that go through memory wait for one another. Whole numbers, so that the bits are the same.
    template <class Entry>
    void prefix_few_classes(const Samples& data, const Entry* e, index_t size) {
        static_assert(block < 1 << field && few * field < 64);
        constexpr std::uint64_t mask = (1 << field) - 1;
        std::int64_t before[few], twice[few], sq_left = static_cast<std::int64_t>(sq_left_),
                                              sq_right = static_cast<std::int64_t>(sq_right_);
        const auto classes = static_cast<std::size_t>(data.n_classes);
        for (std::size_t c = 0; c < classes; ++c) {
            before[c] = 2 * static_cast<std::int64_t>(left_[c]) + 1;
            twice[c] = 2 * static_cast<std::int64_t>(left_[c] + right_[c]);
        }
        std::uint64_t moved = 0;
        for (index_t i = 0; i < size; ++i) {
            const std::int32_t c = data.label[row_of(e[i])];
            const std::int64_t step = before[c] + 2 * static_cast<std::int64_t>(moved >> (field * c) & mask);
            moved += std::uint64_t{1} << (field * c);
            sq_left += step;
            sq_right += step - twice[c];
            a_[static_cast<std::size_t>(i)] = static_cast<double>(sq_left);
            b_[static_cast<std::size_t>(i)] = static_cast<double>(sq_right);
        }
        for (std::size_t c = 0; c < classes; ++c) {
            const auto count = static_cast<double>(moved >> (field * static_cast<int>(c)) & mask);
            left_[c] += count;
            right_[c] -= count;
        }
        sq_left_ = static_cast<double>(sq_left);
        sq_right_ = static_cast<double>(sq_right);
    }

    template <class Entry, class WeightOf>
    void prefix_single(const Samples& data, double all, const Entry* e, index_t size, WeightOf weight_of) {
        double sum = sum_, weight = left_weight_;
        for (index_t i = 0; i < size; ++i) {
            const index_t row = row_of(e[i]);
            const double w = weight_of(row);
            sum += w * data.search[row];
            weight += w;
            a_[static_cast<std::size_t>(i)] = sum * sum;
            b_[static_cast<std::size_t>(i)] = (all - sum) * (all - sum);
            if (data.weight != nullptr) w_[static_cast<std::size_t>(i)] = weight;
        }
        sum_ = sum;
        left_weight_ = weight;
    }

    template <class Entry>
    void prefix_sums(const Samples& data, const NodeTotals& node, const Entry* e, index_t size) {
        if (data.outputs == 1 && data.weight != nullptr)
            return prefix_single(data, node.value[0], e, size, [&](index_t row) { return data.weight[row]; });
        if (data.outputs == 1) return prefix_single(data, node.value[0], e, size, [](index_t) { return 1.0; });
        for (index_t i = 0; i < size; ++i) {
            move(data, row_of(e[i]));
            double a = 0, b = 0;
            for (index_t o = 0; o < data.outputs; ++o) {
                const double sum = left_[static_cast<std::size_t>(o)];
                a += sum * sum;
                b += (node.value[o] - sum) * (node.value[o] - sum);
            }
            a_[static_cast<std::size_t>(i)] = a;
            b_[static_cast<std::size_t>(i)] = b;
            if (data.weight != nullptr) w_[static_cast<std::size_t>(i)] = left_weight_;
        }
    }

    // a: T(G_L)^2, b: T(G_R)^2, w: H_L + l2, so that total - w is H_R + l2 with total = H + 2 l2.
    template <class Entry>
    void prefix_gradients(const Samples& data, const NodeTotals& node, const Entry* e, index_t size) {
        double g = sum_, w = left_weight_;
        const double all = node.value[0], l1 = data.l1;
        for (index_t i = 0; i < size; ++i) {
            const double* pair = data.search + 2 * row_of(e[i]);
            g += pair[0];
            w += pair[1];
            const double left = SecondOrder::shrunk(g, l1), right = SecondOrder::shrunk(all - g, l1);
            a_[static_cast<std::size_t>(i)] = left * left;
            b_[static_cast<std::size_t>(i)] = right * right;
            w_[static_cast<std::size_t>(i)] = w;
        }
        sum_ = g;
        left_weight_ = w;
    }

    // Keeps the boundaries whose parts have hessians of at least min_weight_leaf and H + l2 > 0; w_ never falls.
    void narrow_hessian(const Samples& data, const NodeTotals& node, double total, index_t& lo, index_t& hi) const {
        const double least = std::max(data.l2 + std::max(node.min_weight_leaf, 0.0),
                                      std::numeric_limits<double>::denorm_min());
        const double *first = w_.data() + lo, *last = w_.data() + std::max(lo, hi);
        lo = std::partition_point(first, last, [&](double w) { return w < least; }) - w_.data();
        hi = std::partition_point(first, last, [&](double w) { return total - w >= least; }) - w_.data();
    }

    template <class Entry>
    void run_accumulated(const Samples& data, const Entry* e, index_t lo, index_t hi, index_t n, const Entry* extra,
                         index_t n_extra, Candidate& best) {
        if constexpr (!Policy::is_ratio) {
            typename Policy::Accumulator& part = accumulator_;
            part.clear(data);
            for (index_t i = 0; i < n_extra; ++i) part.add(data, row_of(extra[i]));
            for (index_t i = 0; i < hi; ++i) {
                part.add(data, row_of(e[i]));
                scores_[static_cast<std::size_t>(i)] = part.cost(data);
            }
            Candidate found;
            part.clear(data);
            for (index_t i = n - 2; i >= lo; --i) {
                part.add(data, row_of(e[i + 1]));
                if (i >= hi || !is_fresh(e[i + 1])) continue;
                const double left = scores_[static_cast<std::size_t>(i)], right = part.cost(data);
                Candidate here = join<Policy>(left, right);
                here.position = i + 1;
                here.missing_left = n_extra > 0;
                if (!found.better_than(here)) found = here;
            }
            if (found.better_than(best)) best = found;
        }
    }

public:
    // The cost of a split from the costs of its parts.
    template <class P>
    static Candidate join(double left, double right) {
        Candidate c;
        if constexpr (std::is_same_v<P, WorstCase>) {
            c.cost = std::max(left, right);
            c.tie = left + right;
        } else {
            c.cost = left + right;
            c.tie = 0;
        }
        return c;
    }

private:
    struct Nothing {};
    template <class P, bool ratio>
    struct AccumulatorOf {
        using type = Nothing;
    };
    template <class P>
    struct AccumulatorOf<P, false> {
        using type = typename P::Accumulator;
    };
    typename AccumulatorOf<Policy, Policy::is_ratio>::type accumulator_;
    std::vector<double> scores_, a_, b_, w_;
    std::vector<std::int32_t> pairs_;
    // The left part of a scan so far, and the class weights of the right one.
    std::vector<double> left_, right_;
    double left_weight_ = 0, sum_ = 0, sq_left_ = 0, sq_right_ = 0;
    index_t count_ = 0;
};

}  // namespace assay::trees
