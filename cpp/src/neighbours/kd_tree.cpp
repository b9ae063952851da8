#include "assay/neighbours/kd_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <unordered_map>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "tree_goals.hpp"
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace assay::neighbours {
namespace {

constexpr double slack = 1.0 - 1e-12;

// A row on its way to its place in the tree. With few columns its coordinates travel along, so that the build reads
// memory in order; with more the row number alone does.
template <int d>
struct Carried {
    double at[d];
    std::int64_t row;
    Carried() = default;
    Carried(Matrix<const double> rows, index_t i) : row(i) { std::copy_n(rows.row(i), d, at); }
    double value(Matrix<const double>, index_t column) const { return at[column]; }

    // The widest column of the records [begin, end), the first of those that are equally wide.
    static index_t widest(Matrix<const double>, const Carried* begin, const Carried* end) {
        double least[d], most[d];
        for (int j = 0; j < d; ++j) least[j] = most[j] = begin->at[j];
        for (const Carried* record = begin; record < end; ++record)
            for (int j = 0; j < d; ++j) {
                const double now = record->at[j];
                least[j] = now < least[j] ? now : least[j];
                most[j] = now > most[j] ? now : most[j];
            }
        for (int j = 0; j < d; ++j) most[j] -= least[j];
        return std::max_element(most, most + d) - most;
    }
};
struct Numbered {
    std::int32_t row;
    Numbered() = default;
    Numbered(Matrix<const double>, index_t i) : row(static_cast<std::int32_t>(i)) {}
    double value(Matrix<const double> rows, index_t column) const { return rows(row, column); }

    static index_t widest(Matrix<const double> rows, const Numbered* begin, const Numbered* end) {
        index_t best = 0;
        double width = -1.0;
        for (index_t j = 0; j < rows.cols; ++j) {
            double least = begin->value(rows, j), most = least;
            for (const Numbered* record = begin; record < end; ++record) {
                const double now = record->value(rows, j);
                least = now < least ? now : least;
                most = now > most ? now : most;
            }
            if (most - least > width) {
                width = most - least;
                best = j;
            }
        }
        return best;
    }
};

// The key of that rank; the keys change places. Every pass drops those on one side of the median of three, and no branch
// depends on a key until few are left.
double value_of_rank(double* keys, index_t n, index_t rank) {
    constexpr index_t few = 12;
    for (int pass = 0; n > few && pass < 64; ++pass) {
        const double a = keys[n / 4], b = keys[n / 2], c = keys[n - 1 - n / 4];
        const double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        const auto part = [&](auto before) {
            index_t at = 0;
            for (index_t i = 0; i < n; ++i) {
                const double mine = keys[i];
                keys[i] = keys[at];
                keys[at] = mine;
                at += before(mine) ? 1 : 0;
            }
            return at;
        };
        index_t dropped = part([pivot](double key) { return key < pivot; });
        if (rank < dropped) {
            n = dropped;
            continue;
        }
        if (dropped == 0) {
            dropped = part([pivot](double key) { return key <= pivot; });
            if (rank < dropped) return pivot;
        }
        keys += dropped;
        rank -= dropped;
        n -= dropped;
    }
    std::nth_element(keys, keys + rank, keys + n);
    return keys[rank];
}

// The nodes of a tree over so many rows.
index_t node_count(index_t rows, std::unordered_map<index_t, index_t>& known) {
    if (rows <= leaf_rows) return 1;
    const auto found = known.find(rows);
    if (found != known.end()) return found->second;
    const index_t left = middle_of(0, rows);
    const index_t count = 1 + node_count(left, known) + node_count(rows - left, known);
    known.emplace(rows, count);
    return count;
}

template <class Record>
class Builder {
public:
    Builder(Matrix<const double> rows, KdTree& tree)
        : rows_(rows), tree_(tree), records_(new Record[static_cast<std::size_t>(rows.rows)]) {}

    void build(int threads) {
        std::unordered_map<index_t, index_t> counts;
        const auto nodes = static_cast<std::size_t>(node_count(rows_.rows, counts));
        tree_.column.assign(nodes, -1);
        tree_.right.assign(nodes, -1);
        tree_.low.assign(nodes, 0.0);
        tree_.high.assign(nodes, 0.0);
        tree_.order.resize(static_cast<std::size_t>(rows_.rows));
        parallel_chunks(rows_.rows, 16384, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) records_[i] = Record(rows_, i);
        });
        // The first levels node by node, then whole subtrees: where a node lies follows from the number of rows alone.
        std::vector<Part> level{{0, 0, rows_.rows}};
        while (level.size() < 64 && level.front().end - level.front().begin > 4096 && !interrupted()) {
            std::vector<Part> next(2 * level.size());
            parallel_chunks(static_cast<index_t>(level.size()), 1, threads, [&](index_t c, index_t, index_t) {
                const Part part = level[static_cast<std::size_t>(c)];
                const index_t middle = split(part);
                const index_t right = part.node + 1 + counts.find(middle - part.begin)->second;
                tree_.right[static_cast<std::size_t>(part.node)] = static_cast<std::int32_t>(right);
                next[static_cast<std::size_t>(2 * c)] = {part.node + 1, part.begin, middle};
                next[static_cast<std::size_t>(2 * c + 1)] = {right, middle, part.end};
            });
            level.swap(next);
        }
        parallel_chunks(static_cast<index_t>(level.size()), 1, threads, [&](index_t c, index_t, index_t) {
            const Part part = level[static_cast<std::size_t>(c)];
            grow(part);
            // The order that is written takes the place of the records.
            release_pages(&records_[part.begin], static_cast<std::size_t>(part.end - part.begin) * sizeof(Record));
        });
    }

private:
    struct Part {
        index_t node, begin, end;
    };

    // Builds the part and what is below it; returns the number of the next node.
    index_t grow(Part part) {
        if (part.end - part.begin <= leaf_rows || interrupted()) {
            store(part.begin, part.end);
            return part.node + 1;
        }
        const index_t middle = split(part);
        const index_t right = grow({part.node + 1, part.begin, middle});
        tree_.right[static_cast<std::size_t>(part.node)] = static_cast<std::int32_t>(right);
        return grow({right, middle, part.end});
    }

    index_t split(Part part) {
        const index_t column = Record::widest(rows_, &records_[part.begin], &records_[part.end]);
        const index_t middle = middle_of(part.begin, part.end);
        const double high = select(part.begin, middle, part.end, column);
        double low = value(part.begin, column);
        for (index_t i = part.begin; i < middle; ++i) low = std::max(low, value(i, column));
        const auto node = static_cast<std::size_t>(part.node);
        tree_.column[node] = static_cast<std::int32_t>(column);
        tree_.low[node] = low;
        tree_.high[node] = high;
        return middle;
    }

    double value(index_t i, index_t column) const { return records_[i].value(rows_, column); }

    // Puts the record of that rank at `middle`, smaller ones before it and larger ones after it. Many are first cut down by
    // two values of a sample that enclose it (Floyd & Rivest, "Expected time bounds for selection", CACM 18, 1975); of few
    // the value itself is found, and one pass parts them. Returns the value.
    double select(index_t begin, index_t middle, index_t end, index_t column) {
        double keys[few];
        while (end - begin > few) {
            const index_t n = end - begin, size = most_sampled, step = n / size;
            for (index_t i = 0; i < size; ++i) keys[i] = value(begin + i * step, column);
            const auto spread = static_cast<index_t>(1.25 * std::sqrt(static_cast<double>(size)));
            const index_t rank = (middle - begin) * size / n;
            const index_t first = std::max<index_t>(0, rank - spread), last = std::min(size - 1, rank + spread);
            const double least = value_of_rank(keys, size, first), most = value_of_rank(keys, size, last);
            const index_t inner = partition(begin, end, column, [least](double x) { return x < least; });
            if (middle < inner) {
                end = inner;
            } else {
                const index_t outer = partition(inner, end, column, [most](double x) { return x <= most; });
                if (middle >= outer) {
                    begin = outer;
                } else {
                    begin = inner;
                    end = outer;
                    if (least == most) return least;
                }
            }
            if (end - begin > n - n / 8) break;
        }
        if (end - begin > few) {
            std::nth_element(records_.get() + begin, records_.get() + middle, records_.get() + end,
                             [&](const Record& a, const Record& b) { return a.value(rows_, column) < b.value(rows_, column); });
            return value(middle, column);
        }
        for (index_t i = begin; i < end; ++i) keys[i - begin] = value(i, column);
        const double wanted = value_of_rank(keys, end - begin, middle - begin);
        const index_t inner = partition(begin, end, column, [wanted](double x) { return x < wanted; });
        if (inner < middle) partition(inner, end, column, [wanted](double x) { return x <= wanted; });  // equal ones
        return wanted;
    }

    // Records for which `before` holds first; no branch depends on the values.
    template <class Before>
    index_t partition(index_t begin, index_t end, index_t column, Before before) {
        index_t at = begin;
        for (index_t i = begin; i < end; ++i) {
            const Record mine = records_[i];
            records_[i] = records_[at];
            records_[at] = mine;
            at += before(mine.value(rows_, column)) ? 1 : 0;
        }
        return at;
    }

    void store(index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) tree_.order[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(records_[i].row);
    }

    static constexpr index_t few = 2048, most_sampled = 1024;
    Matrix<const double> rows_;
    KdTree& tree_;
    std::unique_ptr<Record[]> records_;
};

// How a column's distance enters a bound.
struct Squares {
    static double term(double gap, double) { return gap * gap; }
    static double join(double bound, double before, double now) { return bound - before + now; }
};
struct Sums : Squares {
    static double term(double gap, double) { return gap; }
};
struct Powers : Squares {
    static double term(double gap, double p) { return std::pow(gap, p); }
};
struct Maxima {
    static double term(double gap, double) { return gap; }
    static double join(double bound, double, double now) { return std::max(bound, now); }
};

// Bit i is set where distances[i] <= reach, for the rows of one panel.
ASSAY_INLINE std::uint32_t hits_body(const double* distances, double reach) {
    typedef double Value __attribute__((vector_size(64)));
    typedef long long Mask __attribute__((vector_size(64)));
    Mask bit = {1, 2, 4, 8, 16, 32, 64, 128}, found = {};
    for (index_t part = 0; part < 2; ++part, bit <<= 8) {
        Value mine;
        __builtin_memcpy(&mine, distances + part * 8, sizeof(mine));
        found |= (mine <= reach) & bit;
    }
    long long bits = 0;
    for (int lane = 0; lane < 8; ++lane) bits |= found[lane];
    return static_cast<std::uint32_t>(bits);
}
ASSAY_DISPATCH(std::uint32_t, hits, hits_body, (const double* distances, double reach), (distances, reach))

// Offers the first `count` rows of a panel to a goal that has reach(), the distance up to which rows matter, and
// offer(distance, row).
template <class Goal>
void offer_panel(Goal& goal, const double* distances, const std::int32_t* rows, index_t count) {
    std::uint32_t inside = hits(distances, goal.reach()) & ((1u << count) - 1u);
    for (; inside != 0; inside &= inside - 1) {
        const int i = std::countr_zero(inside);
        if (distances[i] <= goal.reach()) goal.offer(distances[i], rows[i]);
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
// The few nearest so far, sorted by (distance, row), in two vectors: a row takes its place without a branch.
struct KeepFew {
    static constexpr index_t most = 8;
    alignas(64) double distances[most];
    alignas(64) std::int64_t rows[most];
    index_t k;

    explicit KeepFew(index_t k) : k(k) {}
    void clear() {
        std::fill_n(distances, most, __builtin_inf());
        std::fill_n(rows, most, std::int64_t{1} << 62);
    }
    double reach() const { return distances[k - 1]; }
    void write(std::int64_t* to_rows, double* to_distances) const {
        std::copy_n(rows, k, to_rows);
        std::copy_n(distances, k, to_distances);
    }
};
__attribute__((target("arch=x86-64-v4"))) void offer_panel(KeepFew& goal, const double* distances, const std::int32_t* rows,
                                                           index_t count) {
    const __m512d reach = _mm512_set1_pd(goal.reach());
    std::uint32_t inside = _mm512_cmp_pd_mask(_mm512_load_pd(distances), reach, _CMP_LE_OQ);
    inside |= static_cast<std::uint32_t>(_mm512_cmp_pd_mask(_mm512_load_pd(distances + 8), reach, _CMP_LE_OQ)) << 8;
    inside &= (1u << count) - 1u;
    if (inside == 0) return;
    __m512d kept = _mm512_load_pd(goal.distances);
    __m512i kept_rows = _mm512_load_si512(goal.rows);
    const __m512i lowest = _mm512_setzero_si512();
    for (; inside != 0; inside &= inside - 1) {
        const int i = std::countr_zero(inside);
        const __m512d distance = _mm512_set1_pd(distances[i]);
        const __m512i row = _mm512_set1_epi64(rows[i]);
        std::uint32_t before = _mm512_cmp_pd_mask(kept, distance, _CMP_LT_OQ);
        if (const __mmask8 same = _mm512_cmp_pd_mask(kept, distance, _CMP_EQ_OQ); same != 0)
            before |= _mm512_mask_cmplt_epi64_mask(same, kept_rows, row);
        // All lanes but the first that is not before the row; what stood there and beyond moves up.
        const auto others = static_cast<__mmask8>(~(before + 1));
        kept_rows = _mm512_mask_expand_epi64(row, others, kept_rows);
        // The same of the distances, which the next row waits for, without the mask.
        const __m512d moved = _mm512_castsi512_pd(_mm512_maskz_alignr_epi64(0xFF, _mm512_castpd_si512(kept), lowest, 7));
        kept = _mm512_maskz_min_pd(0xFF, kept, _mm512_maskz_max_pd(0xFF, distance, moved));
    }
    _mm512_store_pd(goal.distances, kept);
    _mm512_store_si512(goal.rows, kept_rows);
}
#endif

template <class Terms, class Goal>
class Walk {
public:
    Walk(const KdTreeView& tree, VisitedPanels& panels, PanelDistances measure, double p, const double* query, double* gaps,
         Goal& goal)
        : tree_(tree), panels_(panels), measure_(measure), query_(query), d_(tree.rows.cols), gaps_(gaps), goal_(goal) {
        options_.p = p;
    }

    // `far` holds the parts to return to, `changed` the gaps to restore on the way.
    void run() {
        Far far[most_depth];
        Changed changed[most_depth];
        int waiting = 0, changes = 0;
        index_t node = 0, begin = 0, end = tree_.rows.rows;
        double bound = 0.0, reach = goal_.reach();
        while (true) {
            for (std::int32_t column = tree_.column[node]; column >= 0; column = tree_.column[node]) {
                const double value = query_[column], below = value - tree_.low[node], above = tree_.high[node] - value;
                const index_t middle = middle_of(begin, end), left = node + 1, right = tree_.right[node];
                const bool left_first = below < above;
                const double now = std::max(gaps_[column], Terms::term(std::max(0.0, left_first ? above : below), options_.p));
                const double far_bound = Terms::join(bound, gaps_[column], now);
                far[waiting] = {far_bound, now, left_first ? right : left, left_first ? middle : begin,
                                left_first ? end : middle, column, changes};
                waiting += far_bound * slack <= reach;
                node = left_first ? left : right;
                begin = left_first ? begin : middle;
                end = left_first ? middle : end;
            }
            leaf(begin, end);
            reach = goal_.reach();
            do {
                if (waiting == 0) return;
                --waiting;
            } while (!(far[waiting].bound * slack <= reach));
            const Far& next = far[waiting];
            while (changes > next.changes) {
                --changes;
                gaps_[changed[changes].column] = changed[changes].before;
            }
            changed[changes++] = {gaps_[next.column], next.column};
            gaps_[next.column] = next.gap;
            node = next.node;
            begin = next.begin;
            end = next.end;
            bound = next.bound;
        }
    }

private:
    static constexpr int most_depth = 64;  // each level halves the rows
    struct Far {
        double bound, gap;
        index_t node, begin, end;
        std::int32_t column;
        int changes;
    };
    struct Changed {
        double before;
        std::int32_t column;
    };

    void leaf(index_t begin, index_t end) {
        alignas(64) double distances[panel_lanes];
        for (; begin < end; begin += panel_lanes) {
            measure_(query_, panels_[begin / panel_lanes], 1, d_, options_, distances);
            offer_panel(goal_, distances, tree_.order + begin, std::min(end - begin, panel_lanes));
        }
    }

    const KdTreeView& tree_;
    VisitedPanels& panels_;
    PanelDistances measure_;
    MetricOptions options_;
    const double* query_;
    index_t d_;
    double* gaps_;
    Goal& goal_;
};

template <class Goal>
void walk(const KdTreeView& tree, VisitedPanels& panels, Metric metric, double p, const double* query, double* gaps,
          Goal& goal) {
    const PanelDistances measure = panel_distances(metric);
    std::fill_n(gaps, tree.rows.cols, 0.0);
    switch (metric) {
        case Metric::manhattan: Walk<Sums, Goal>(tree, panels, measure, p, query, gaps, goal).run(); break;
        case Metric::chebyshev: Walk<Maxima, Goal>(tree, panels, measure, p, query, gaps, goal).run(); break;
        case Metric::minkowski: Walk<Powers, Goal>(tree, panels, measure, p, query, gaps, goal).run(); break;
        default: Walk<Squares, Goal>(tree, panels, measure, p, query, gaps, goal).run();
    }
}

// Calls work(panels, queries, count) with the numbers of queries that fall into the same part of the tree side by side. Each
// query is answered by itself, so the order changes no answer.
template <class Work>
void for_queries(const KdTreeView& tree, Matrix<const double> queries, int threads, Work&& work) {
    const std::vector<std::int32_t> listed = order_of_queries(tree, queries, threads);
    PanelsOfThreads panels(tree, threads);
    parallel_chunks(queries.rows, 64, threads,
                    [&](index_t, index_t begin, index_t end) { work(panels.mine(), listed.data() + begin, end - begin); });
}

template <class Keep>
void keep_nearest(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                  std::int64_t* nearest, double* distances, int threads) {
    for_queries(tree, queries, threads, [&](VisitedPanels& panels, const std::int32_t* listed, index_t count) {
        Keep goal(k);
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            const index_t i = listed[c];
            goal.clear();
            walk(tree, panels, metric, p, queries.row(i), gaps.data(), goal);
            goal.write(nearest + i * k, distances + i * k);
        }
    });
}

}  // namespace

KdTree build_kd_tree(Matrix<const double> rows, int threads) {
    KdTree tree;
    switch (rows.cols) {
        case 1: Builder<Carried<1>>(rows, tree).build(threads); break;
        case 2: Builder<Carried<2>>(rows, tree).build(threads); break;
        case 3: Builder<Carried<3>>(rows, tree).build(threads); break;
        case 4: Builder<Carried<4>>(rows, tree).build(threads); break;
        case 5: Builder<Carried<5>>(rows, tree).build(threads); break;
        case 6: Builder<Carried<6>>(rows, tree).build(threads); break;
        case 7: Builder<Carried<7>>(rows, tree).build(threads); break;
        case 8: Builder<Carried<8>>(rows, tree).build(threads); break;
        default: Builder<Numbered>(rows, tree).build(threads);
    }
    return tree;
}

bool well_formed(const KdTreeView& tree) {
    struct Span {
        index_t node, begin, end;
    };
    std::vector<Span> open{{0, 0, tree.rows.rows}};
    while (!open.empty()) {
        const Span span = open.back();
        open.pop_back();
        if (span.node >= tree.nodes) return false;
        const std::int32_t column = tree.column[span.node], right = tree.right[span.node];
        if (column < 0) {
            if (span.end - span.begin > leaf_rows) return false;
            continue;
        }
        if (column >= tree.rows.cols || span.end - span.begin <= leaf_rows || right <= span.node + 1) return false;
        const index_t middle = middle_of(span.begin, span.end);
        open.push_back({right, middle, span.end});
        open.push_back({span.node + 1, span.begin, middle});
    }
    std::uint32_t last = 0;
    for (index_t i = 0; i < tree.rows.rows; ++i) last = std::max(last, static_cast<std::uint32_t>(tree.order[i]));
    return static_cast<index_t>(last) < tree.rows.rows;
}

VisitedPanels::VisitedPanels(const KdTreeView& tree) : tree_(tree), panel_cells_(panel_lanes * tree.rows.cols) {
    constexpr index_t cells = 128 * 1024 / sizeof(double);  // a part of the second-level cache
    const auto room = static_cast<std::size_t>(std::max<index_t>(cells / panel_cells_, 4));
    const auto slots = std::min(std::bit_floor(room), std::bit_ceil(static_cast<std::size_t>(panel_count(tree.rows.rows))));
    last_slot_ = static_cast<index_t>(slots) - 1;
    held_.assign(slots, -1);
    cells_.reset(static_cast<double*>(std::aligned_alloc(64, slots * static_cast<std::size_t>(panel_cells_) * sizeof(double))));
    if (!cells_) throw std::bad_alloc();
}

void VisitedPanels::turn(index_t p, double* panel) const {
    const double* lanes[panel_lanes];
    const std::int32_t* const order = tree_.order + p * panel_lanes;
    const index_t used = std::min(panel_lanes, tree_.rows.rows - p * panel_lanes);
    for (index_t lane = 0; lane < panel_lanes; ++lane) lanes[lane] = tree_.rows.row(order[lane < used ? lane : 0]);
    pack_panel(lanes, tree_.rows.cols, panel);
}

VisitedPanels& PanelsOfThreads::mine() {
    // A loop inside of another one has one thread, whatever its number.
    auto& held = held_[std::min(static_cast<std::size_t>(thread_number()), held_.size() - 1)];
    if (!held) held = std::make_unique<VisitedPanels>(tree_);
    return *held;
}

std::vector<std::int32_t> order_of_queries(const KdTreeView& tree, Matrix<const double> queries, int threads) {
    constexpr index_t part_rows = 512, few = 256;
    std::vector<std::int32_t> listed(static_cast<std::size_t>(queries.rows));
    if (tree.rows.rows <= 4 * part_rows || queries.rows < few) {
        std::iota(listed.begin(), listed.end(), 0);
        return listed;
    }
    std::vector<std::int32_t> part(listed.size());
    parallel_chunks(queries.rows, 1024, threads, [&](index_t, index_t from, index_t to) {
        for (index_t i = from; i < to; ++i) {
            index_t node = 0, begin = 0, end = tree.rows.rows;
            while (end - begin > part_rows) {
                const double value = queries(i, tree.column[node]);
                const index_t middle = middle_of(begin, end);
                const bool left = value - tree.low[node] < tree.high[node] - value;
                node = left ? node + 1 : tree.right[node];
                (left ? end : begin) = middle;
            }
            part[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(begin / (part_rows / 4));
        }
    });
    std::vector<std::int32_t> start(static_cast<std::size_t>(tree.rows.rows / (part_rows / 4) + 2), 0);
    for (const std::int32_t mine : part) ++start[static_cast<std::size_t>(mine) + 1];
    for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
    for (std::size_t i = 0; i < part.size(); ++i)
        listed[static_cast<std::size_t>(start[static_cast<std::size_t>(part[i])]++)] = static_cast<std::int32_t>(i);
    return listed;
}

void nearest_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                     std::int64_t* nearest, double* distances, int threads) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (k <= KeepFew::most && simd_level() == Simd::avx512)
        return keep_nearest<KeepFew>(tree, metric, p, queries, k, nearest, distances, threads);
#endif
    keep_nearest<KeepNearest>(tree, metric, p, queries, k, nearest, distances, threads);
}

void count_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                   std::int64_t* counts, int threads) {
    for_queries(tree, queries, threads, [&](VisitedPanels& panels, const std::int32_t* listed, index_t count) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            Tally goal{radius};
            walk(tree, panels, metric, p, queries.row(listed[c]), gaps.data(), goal);
            counts[listed[c]] = goal.count;
        }
    });
}

RadiusLists within_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                           int threads) {
    RadiusCollector collector(queries.rows);
    for_queries(tree, queries, threads, [&](VisitedPanels& panels, const std::int32_t* listed, index_t count) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            Gather goal{radius, listed[c], collector};
            walk(tree, panels, metric, p, queries.row(listed[c]), gaps.data(), goal);
        }
    });
    return collector.lists();
}

}  // namespace assay::neighbours
