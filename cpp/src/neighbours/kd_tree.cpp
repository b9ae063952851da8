#include "assay/neighbours/kd_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "tree_goals.hpp"

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
};
struct Numbered {
    std::int64_t row;
    Numbered() = default;
    Numbered(Matrix<const double>, index_t i) : row(i) {}
    double value(Matrix<const double> rows, index_t column) const { return rows(row, column); }
};

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
        tree_.panels.resize(static_cast<std::size_t>(panel_count(rows_.rows) * panel_lanes * rows_.cols));
        std::fill(tree_.panels.end() - panel_lanes * rows_.cols, tree_.panels.end(), 0.0);  // the last may have fewer rows
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
            // What is written to the panels takes the place of the records.
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
        const index_t column = widest(part.begin, part.end), middle = middle_of(part.begin, part.end);
        select(part.begin, middle, part.end, column);
        double low = value(part.begin, column);
        for (index_t i = part.begin; i < middle; ++i) low = std::max(low, value(i, column));
        const auto node = static_cast<std::size_t>(part.node);
        tree_.column[node] = static_cast<std::int32_t>(column);
        tree_.low[node] = low;
        tree_.high[node] = value(middle, column);
        return middle;
    }

    double value(index_t i, index_t column) const { return records_[i].value(rows_, column); }

    index_t widest(index_t begin, index_t end) const {
        index_t best = 0;
        double width = -1.0;
        for (index_t j = 0; j < rows_.cols; ++j) {
            double least = value(begin, j), most = least;
            for (index_t i = begin; i < end; ++i) {
                const double now = value(i, j);
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

    // Puts the record of that rank at `middle`, smaller ones before it and larger ones after it (Floyd & Rivest,
    // "Expected time bounds for selection", CACM 18, 1975): two values of a sample enclose it, and what is left between
    // them is small.
    void select(index_t begin, index_t middle, index_t end, index_t column) {
        double sample[most_sampled];
        while (end - begin > few) {
            const index_t n = end - begin, size = std::min(most_sampled, n / 8), step = n / size;
            for (index_t i = 0; i < size; ++i) sample[i] = value(begin + i * step, column);
            const auto spread = static_cast<index_t>(1.25 * std::sqrt(static_cast<double>(size)));
            const index_t rank = (middle - begin) * size / n;
            const index_t first = std::max<index_t>(0, rank - spread), last = std::min(size - 1, rank + spread);
            std::nth_element(sample, sample + first, sample + size);
            std::nth_element(sample + first, sample + last, sample + size);
            const double least = sample[first], most = sample[last];
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
                    if (least == most) return;
                }
            }
            if (end - begin > n - n / 8) break;
        }
        std::nth_element(records_.get() + begin, records_.get() + middle, records_.get() + end,
                         [&](const Record& a, const Record& b) { return a.value(rows_, column) < b.value(rows_, column); });
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

    // A leaf begins with a panel, since all parts on the left are whole panels.
    void store(index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            tree_.order[static_cast<std::size_t>(i)] = records_[i].row;
            double* const panel = tree_.panels.data() + i / panel_lanes * panel_lanes * rows_.cols + i % panel_lanes;
            for (index_t j = 0; j < rows_.cols; ++j) panel[j * panel_lanes] = value(i, j);
        }
    }

    static constexpr index_t few = 96, most_sampled = 1024;
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

// Bit i is set where distances[i] <= reach, for the rows of one leaf in `panels` panels.
ASSAY_INLINE std::uint32_t hits_body(const double* distances, index_t panels, double reach) {
    typedef double Value __attribute__((vector_size(64)));
    typedef long long Mask __attribute__((vector_size(64)));
    Mask bit = {1, 2, 4, 8, 16, 32, 64, 128}, found = {};
    for (index_t part = 0; part < 2 * panels; ++part, bit <<= 8) {
        Value mine;
        __builtin_memcpy(&mine, distances + part * 8, sizeof(mine));
        found |= (mine <= reach) & bit;
    }
    long long bits = 0;
    for (int lane = 0; lane < 8; ++lane) bits |= found[lane];
    return static_cast<std::uint32_t>(bits);
}
ASSAY_DISPATCH(std::uint32_t, hits, hits_body, (const double* distances, index_t panels, double reach),
               (distances, panels, reach))

// `Goal` has reach(), the distance up to which rows matter, and offer(distance, row).
template <class Terms, class Goal>
class Walk {
public:
    Walk(const KdTreeView& tree, PanelDistances measure, double p, const double* query, index_t d, double* gaps,
         Goal& goal)
        : tree_(tree), measure_(measure), query_(query), d_(d), gaps_(gaps), goal_(goal) {
        options_.p = p;
    }

    // `far` holds the parts to return to, `changed` the gaps to restore on the way.
    void run() {
        Far far[most_depth];
        Changed changed[most_depth];
        int waiting = 0, changes = 0;
        index_t node = 0, begin = 0, end = tree_.n;
        double bound = 0.0, reach = goal_.reach();
        while (true) {
            for (std::int32_t column = tree_.column[node]; column >= 0; column = tree_.column[node]) {
                const double value = query_[column], below = value - tree_.low[node], above = tree_.high[node] - value;
                const index_t middle = middle_of(begin, end), left = node + 1, right = tree_.right[node];
                const bool left_first = below < above;
                const double now = std::max(gaps_[column], Terms::term(std::max(0.0, left_first ? above : below), options_.p));
                const double far_bound = Terms::join(bound, gaps_[column], now);
                if (far_bound * slack <= reach)
                    far[waiting++] = {far_bound, now, left_first ? right : left, left_first ? middle : begin,
                                      left_first ? end : middle, column, changes};
                node = left_first ? left : right;
                begin = left_first ? begin : middle;
                end = left_first ? middle : end;
            }
            leaf(begin, end, reach);
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

    void leaf(index_t begin, index_t end, double reach) {
        alignas(64) double distances[leaf_rows];
        const index_t panels = panel_count(end - begin);
        measure_(query_, tree_.panels + begin * d_, panels, d_, options_, distances);
        std::uint32_t inside = hits(distances, panels, reach);
        if (end - begin < leaf_rows) inside &= (1u << (end - begin)) - 1u;
        for (; inside != 0; inside &= inside - 1) {
            const int i = std::countr_zero(inside);
            if (distances[i] <= goal_.reach()) goal_.offer(distances[i], tree_.order[begin + i]);
        }
    }

    const KdTreeView& tree_;
    PanelDistances measure_;
    MetricOptions options_;
    const double* query_;
    index_t d_;
    double* gaps_;
    Goal& goal_;
};

template <class Goal>
void walk(const KdTreeView& tree, Metric metric, double p, const double* query, index_t d, double* gaps, Goal& goal) {
    const PanelDistances measure = panel_distances(metric);
    std::fill(gaps, gaps + d, 0.0);
    switch (metric) {
        case Metric::manhattan: Walk<Sums, Goal>(tree, measure, p, query, d, gaps, goal).run(); break;
        case Metric::chebyshev: Walk<Maxima, Goal>(tree, measure, p, query, d, gaps, goal).run(); break;
        case Metric::minkowski: Walk<Powers, Goal>(tree, measure, p, query, d, gaps, goal).run(); break;
        default: Walk<Squares, Goal>(tree, measure, p, query, d, gaps, goal).run();
    }
}

// Calls work(queries, count) with the numbers of queries that fall into the same part of the tree side by side: what one
// reads is in cache for the next. Each query is answered by itself, so the order changes no answer.
template <class Work>
void for_queries(const KdTreeView& tree, Matrix<const double> queries, int threads, Work&& work) {
    constexpr index_t part_rows = 512, grain = 64;
    std::vector<std::int64_t> listed(static_cast<std::size_t>(queries.rows));
    if (tree.n <= 4 * part_rows || queries.rows < 4 * grain) {
        for (std::size_t i = 0; i < listed.size(); ++i) listed[i] = static_cast<std::int64_t>(i);
    } else {
        std::vector<std::int32_t> part(listed.size());
        parallel_chunks(queries.rows, 1024, threads, [&](index_t, index_t from, index_t to) {
            for (index_t i = from; i < to; ++i) {
                index_t node = 0, begin = 0, end = tree.n;
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
        std::vector<std::int64_t> start(static_cast<std::size_t>(tree.n / (part_rows / 4) + 2), 0);
        for (const std::int32_t mine : part) ++start[static_cast<std::size_t>(mine) + 1];
        for (std::size_t c = 1; c < start.size(); ++c) start[c] += start[c - 1];
        for (std::size_t i = 0; i < part.size(); ++i)
            listed[static_cast<std::size_t>(start[static_cast<std::size_t>(part[i])]++)] = static_cast<std::int64_t>(i);
    }
    parallel_chunks(queries.rows, grain, threads,
                    [&](index_t, index_t begin, index_t end) { work(listed.data() + begin, end - begin); });
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

bool well_formed(const KdTreeView& tree, index_t nodes, index_t d) {
    struct Span {
        index_t node, begin, end;
    };
    std::vector<Span> open{{0, 0, tree.n}};
    while (!open.empty()) {
        const Span span = open.back();
        open.pop_back();
        if (span.node >= nodes) return false;
        const std::int32_t column = tree.column[span.node], right = tree.right[span.node];
        if (column < 0) {
            if (span.end - span.begin > leaf_rows) return false;
            continue;
        }
        if (column >= d || span.end - span.begin <= leaf_rows || right <= span.node + 1) return false;
        const index_t middle = middle_of(span.begin, span.end);
        open.push_back({right, middle, span.end});
        open.push_back({span.node + 1, span.begin, middle});
    }
    return true;
}

void nearest_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, index_t k,
                     std::int64_t* nearest, double* distances, int threads) {
    for_queries(tree, queries, threads, [&](const std::int64_t* listed, index_t count) {
        KeepNearest goal{Nearest(k)};
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            const index_t i = listed[c];
            goal.best.clear();
            walk(tree, metric, p, queries.row(i), queries.cols, gaps.data(), goal);
            goal.best.write(nearest + i * k, distances + i * k);
        }
    });
}

void count_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                   std::int64_t* counts, int threads) {
    for_queries(tree, queries, threads, [&](const std::int64_t* listed, index_t count) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            Tally goal{radius};
            walk(tree, metric, p, queries.row(listed[c]), queries.cols, gaps.data(), goal);
            counts[listed[c]] = goal.count;
        }
    });
}

RadiusLists within_in_tree(const KdTreeView& tree, Metric metric, double p, Matrix<const double> queries, double radius,
                           int threads) {
    RadiusCollector collector(queries.rows);
    for_queries(tree, queries, threads, [&](const std::int64_t* listed, index_t count) {
        std::vector<double> gaps(static_cast<std::size_t>(queries.cols));
        for (index_t c = 0; c < count && !interrupted(); ++c) {
            Gather goal{radius, listed[c], collector};
            walk(tree, metric, p, queries.row(listed[c]), queries.cols, gaps.data(), goal);
        }
    });
    return collector.lists();
}

}  // namespace assay::neighbours
