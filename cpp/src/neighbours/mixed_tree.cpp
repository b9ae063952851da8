#include "assay/neighbours/mixed_tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "tree_goals.hpp"

namespace assay::neighbours {
namespace {

constexpr index_t sample_size = 128;
constexpr int missing_byte = 255, largest_byte = 254;
constexpr double plain_unit = 1.0 / 64;  // of a leaf whose numbers do not vary
constexpr int most_numbers = 200;        // columns of numbers in a screen: 255 times this and the codes fit 16 bits
constexpr double slack = 1e-12;
constexpr double infinity = std::numeric_limits<double>::infinity();

index_t byte_lanes_of(index_t panels) { return (panels * panel_lanes + byte_lanes - 1) / byte_lanes * byte_lanes; }
bool is_missing(double cell) { return cell != cell; }

// Codes far above the base share the last byte: equal bytes of codes mean nothing there, different ones differ.
std::uint8_t to_byte(double x, double base, double unit) {
    const double steps = std::min(std::max((x - base) / unit, 0.0), static_cast<double>(largest_byte));
    return static_cast<std::uint8_t>(steps);
}

// ---- build ------------------------------------------------------------------------------------------------------------

class MixedBuilder {
public:
    MixedBuilder(Matrix<const double> rows, const std::uint8_t* nominal, MixedTree& tree)
        : rows_(rows), nominal_(nominal), tree_(tree), leaf_rows_(rows.cols <= 12 ? mixed_leaf_rows / 4 : mixed_leaf_rows),
          members_(static_cast<std::size_t>(rows.rows)) {
        std::iota(members_.begin(), members_.end(), 0);
        // Room for leaves that are half full: what is not written takes no memory, and growing would hold both.
        tree_.order.reserve(2 * members_.size());
        tree_.bytes.reserve(2 * members_.size() * static_cast<std::size_t>(rows.cols));
    }

    std::size_t build(index_t begin, index_t end) {
        const std::size_t node = tree_.right.size();
        const auto d = static_cast<std::size_t>(rows_.cols);
        tree_.right.push_back(-1);
        tree_.panel.push_back(static_cast<std::int32_t>(tree_.order.size() / panel_lanes));
        tree_.first_row.push_back(0);
        tree_.low.resize(tree_.low.size() + d, infinity);
        tree_.high.resize(tree_.high.size() + d, -infinity);
        tree_.known.resize(tree_.known.size() + d, 0);
        tree_.base.resize(tree_.base.size() + d, 0.0);
        tree_.unit.push_back(plain_unit);
        tree_.byte_block.push_back(0);
        if (end - begin <= leaf_rows_ || interrupted()) {
            leaf(node, begin, end);
            return node;
        }
        const index_t middle = split(begin, end);
        build(begin, middle);
        const std::size_t right = build(middle, end);
        tree_.right[node] = static_cast<std::int32_t>(right);
        join(node, node + 1, right);
        return node;
    }

private:
    double cell(index_t member, index_t column) const { return rows_(members_[static_cast<std::size_t>(member)], column); }

    void leaf(std::size_t node, index_t begin, index_t end) {
        std::sort(members_.begin() + begin, members_.begin() + end);
        tree_.first_row[node] = members_[static_cast<std::size_t>(begin)];
        for (index_t i = begin; i < end; ++i) tree_.order.push_back(members_[static_cast<std::size_t>(i)]);
        while (tree_.order.size() % panel_lanes != 0) tree_.order.push_back(-1);
        double widest = 0.0;
        for (index_t j = 0; j < rows_.cols; ++j) {
            const std::size_t at = node * static_cast<std::size_t>(rows_.cols) + static_cast<std::size_t>(j);
            index_t present = 0;
            for (index_t i = begin; i < end; ++i) {
                const double x = cell(i, j);
                if (is_missing(x)) continue;
                ++present;
                tree_.low[at] = std::min(tree_.low[at], x);
                tree_.high[at] = std::max(tree_.high[at], x);
            }
            if (present > 0) tree_.base[at] = tree_.low[at];
            if (present > 0 && !nominal_[j]) widest = std::max(widest, tree_.high[at] - tree_.low[at]);
            settle(at, present == 0 ? 0 : present == end - begin ? 2 : 1);
        }
        if (widest > 0.0) tree_.unit[node] = widest / largest_byte;
        tree_.byte_block[node] = static_cast<std::int64_t>(tree_.bytes.size()) / byte_lanes;
        write_bytes(node, begin, end);
    }

    void write_bytes(std::size_t node, index_t begin, index_t end) {
        const index_t lanes = byte_lanes_of(panel_count(end - begin));
        for (index_t j = 0; j < rows_.cols; ++j) {
            const double base = tree_.base[node * static_cast<std::size_t>(rows_.cols) + static_cast<std::size_t>(j)];
            for (index_t i = begin; i < begin + lanes; ++i) {
                const double x = i < end ? cell(i, j) : base, unit = nominal_[j] ? 1.0 : tree_.unit[node];
                tree_.bytes.push_back(is_missing(x) ? missing_byte : to_byte(x, base, unit));
            }
        }
    }

    // A column that some row misses bounds nothing: its range becomes infinite.
    void settle(std::size_t at, int known) {
        tree_.known[at] = static_cast<std::uint8_t>(known);
        if (known == 2) return;
        tree_.low[at] = -infinity;
        tree_.high[at] = infinity;
    }

    void join(std::size_t node, std::size_t left, std::size_t right) {
        const auto d = static_cast<std::size_t>(rows_.cols);
        tree_.first_row[node] = std::min(tree_.first_row[left], tree_.first_row[right]);
        for (std::size_t j = 0; j < d; ++j) {
            const std::size_t at = node * d + j, a = left * d + j, b = right * d + j;
            tree_.low[at] = std::min(tree_.low[a], tree_.low[b]);
            tree_.high[at] = std::max(tree_.high[a], tree_.high[b]);
            settle(at, tree_.known[a] == tree_.known[b] ? tree_.known[a] : 1);
        }
    }

    // Parts the members [begin, end) in two that are not empty.
    index_t split(index_t begin, index_t end) {
        index_t best = -1;
        double most = 0.0;
        for (index_t j = 0; j < rows_.cols; ++j) {
            const double found = difference(begin, end, j);
            if (found > most) {
                most = found;
                best = j;
            }
        }
        if (best >= 0) {
            const index_t middle = part(begin, end, best);
            if (middle > begin && middle < end) return middle;
        }
        for (index_t j = 0; j < rows_.cols; ++j) {
            const index_t middle = part(begin, end, j);
            if (middle > begin && middle < end) return middle;
        }
        std::sort(members_.begin() + begin, members_.begin() + end);
        return begin + (end - begin) / 2;
    }

    // The sorted cells of a sample that are known; `share` is the missing share.
    void take_sample(index_t begin, index_t end, index_t column, double& share) {
        sample_.clear();
        const index_t taken = std::min(sample_size, end - begin);
        for (index_t s = 0; s < taken; ++s) {
            const double x = cell(begin + (end - begin) * s / taken, column);
            if (!is_missing(x)) sample_.push_back(x);
        }
        std::sort(sample_.begin(), sample_.end());
        share = 1.0 - static_cast<double>(sample_.size()) / static_cast<double>(taken);
    }

    double difference(index_t begin, index_t end, index_t column) {
        double share = 0.0, found = 0.0;
        take_sample(begin, end, column, share);
        const auto size = static_cast<double>(sample_.size());
        if (sample_.size() > 1 && nominal_[column]) {
            double same = 0.0;
            for (std::size_t i = 0, run = 0; i < sample_.size(); ++i) {
                run = i > 0 && sample_[i] == sample_[i - 1] ? run + 1 : 1;
                same += static_cast<double>(2 * run - 1);
            }
            found = 1.0 - same / (size * size);
        } else if (sample_.size() > 1) {
            for (std::size_t i = 0; i < sample_.size(); ++i)
                found += sample_[i] * (2.0 * static_cast<double>(i) + 1.0 - size);
            found *= 2.0 / (size * size);
        }
        return (1.0 - share) * (1.0 - share) * found + share * (1.0 - share);
    }

    index_t part(index_t begin, index_t end, index_t column) {
        const auto first = members_.begin() + begin, last = members_.begin() + end;
        const auto present = [&](std::int64_t row) { return !is_missing(rows_(row, column)); };
        const index_t known = std::partition(first, last, present) - members_.begin();
        if (known < end) return known;  // where some row misses the column; `begin` if all do
        double share = 0.0;
        take_sample(begin, end, column, share);
        const double middle = sample_[sample_.size() / 2];
        const auto below = [&](std::int64_t row) { return rows_(row, column) < middle; };
        const auto equal = [&](std::int64_t row) { return rows_(row, column) == middle; };
        const auto from = std::partition(first, last, below), to = std::partition(from, last, equal);
        const index_t less = from - members_.begin(), up_to = to - members_.begin();
        const index_t half = begin + (end - begin) / 2;
        return less > begin && (up_to == end || half - less <= up_to - half) ? less : up_to;
    }

    Matrix<const double> rows_;
    const std::uint8_t* nominal_;
    MixedTree& tree_;
    index_t leaf_rows_;
    std::vector<std::int32_t> members_;
    std::vector<double> sample_;
};

// ---- the screen of a leaf ---------------------------------------------------------------------------------------------

struct ByteColumn {
    const std::uint8_t* cells;
    std::uint8_t query;
    std::uint16_t mismatch;  // what a different code adds; 0 for numbers
    std::uint16_t absence;   // what a missing cell adds
    bool complete;           // no cell is missing
};

// One loop per kind of column over whole blocks of lanes: each of them becomes a few vector instructions.
template <bool codes, bool complete>
ASSAY_INLINE void add_column(const ByteColumn& column, index_t blocks, std::uint16_t* __restrict total) {
    const std::uint8_t* __restrict cells = column.cells;
    const std::uint16_t q = column.query, mismatch = column.mismatch, absence = column.absence;
    for (index_t i = 0; i < blocks * byte_lanes; ++i) {
        const std::uint16_t x = cells[i];
        std::uint16_t term;
        if constexpr (codes) {
            term = x != q ? mismatch : std::uint16_t{0};
        } else {
            term = static_cast<std::uint16_t>(std::max(x, q) - std::min(x, q));
        }
        if constexpr (!complete) term = x != missing_byte ? term : absence;
        total[i] = static_cast<std::uint16_t>(total[i] + term);
    }
}

// OUT the least sum of each panel.
ASSAY_INLINE void add_bytes_body(const ByteColumn* columns, index_t count, index_t blocks, std::uint16_t* least) {
    alignas(64) std::uint16_t sums[mixed_leaf_rows];
    for (index_t i = 0; i < blocks * byte_lanes; ++i) sums[i] = 0;
    for (index_t c = 0; c < count; ++c) {
        const ByteColumn column = columns[c];
        if (column.mismatch != 0) {
            if (column.complete) add_column<true, true>(column, blocks, sums);
            else add_column<true, false>(column, blocks, sums);
        } else {
            if (column.complete) add_column<false, true>(column, blocks, sums);
            else add_column<false, false>(column, blocks, sums);
        }
    }
    for (index_t panel = 0; panel < blocks * byte_lanes / panel_lanes; ++panel) {
        std::uint16_t smallest = sums[panel * panel_lanes];
#pragma GCC unroll 1
        for (index_t i = 1; i < panel_lanes; ++i) smallest = std::min(smallest, sums[panel * panel_lanes + i]);
        least[panel] = smallest;
    }
}
ASSAY_DISPATCH(void, add_bytes, add_bytes_body,
               (const ByteColumn* columns, index_t count, index_t blocks, std::uint16_t* least),
               (columns, count, blocks, least))

// ---- search -----------------------------------------------------------------------------------------------------------

// What every query needs to know about the nodes.
struct NodeFacts {
    std::vector<int> possible;           // columns that some row knows
    std::vector<std::uint8_t> complete;  // nodes x d: whether every row knows the column
    NodeFacts(const MixedTreeView& tree, index_t d)
        : possible(static_cast<std::size_t>(tree.nodes), 0), complete(static_cast<std::size_t>(tree.nodes * d)) {
        for (index_t node = 0; node < tree.nodes; ++node)
            for (index_t j = 0; j < d; ++j) {
                const std::uint8_t state = tree.known[node * d + j];
                possible[static_cast<std::size_t>(node)] += state != 0;
                complete[static_cast<std::size_t>(node * d + j)] = state == 2;
            }
    }
};

class MixedWalk {
public:
    MixedWalk(const MixedTreeView& tree, const NodeFacts& facts, index_t d)
        : tree_(tree), facts_(facts), d_(d), measure_(panel_distances(Metric::mixed)) {
        options_.nominal = tree.nominal;
        present_.reserve(static_cast<std::size_t>(d));
        absent_.reserve(static_cast<std::size_t>(d));
    }

    void set_query(const double* cells) {
        query_ = cells;
        present_.clear();
        absent_.clear();
        for (index_t j = 0; j < d_; ++j) {
            if (is_missing(cells[j]))
                absent_.push_back(j);
            else
                present_.push_back({cells[j], j, tree_.nominal[j] != 0});
        }
    }

    // The leaf whose rows may be nearest.
    index_t leaf_of_query() const {
        index_t node = 0;
        while (tree_.right[node] >= 0) node = bound(tree_.right[node]) < bound(node + 1) ? tree_.right[node] : node + 1;
        return node;
    }

    // `Goal` has reach(), the distance up to which rows matter, wants(bound, first row), whether a part may matter, and
    // offer(distance, row).
    template <class Goal>
    void visit(index_t node, double node_bound, Goal& goal) {
        if (tree_.right[node] < 0) return scan(node, node_bound, goal);
        index_t near = node + 1, far = tree_.right[node];
        double near_bound = bound(near), far_bound = bound(far);
        if (far_bound < near_bound || (far_bound == near_bound && tree_.first_row[far] < tree_.first_row[near])) {
            std::swap(near, far);
            std::swap(near_bound, far_bound);
        }
        if (goal.wants(near_bound, tree_.first_row[near])) visit(near, near_bound, goal);
        if (goal.wants(far_bound, tree_.first_row[far])) visit(far, far_bound, goal);
    }

private:
    struct Cell {
        double value;
        index_t column;
        bool nominal;
    };

    double bound(index_t node) const {
        const double *low = tree_.low + node * d_, *high = tree_.high + node * d_;
        double total = 0.0;
        for (const Cell& cell : present_) {
            const double under = low[cell.column] - cell.value, over = cell.value - high[cell.column];
            // Placed numbers lie in [0, 1] and codes are whole: a gap between codes counts as 1.
            total += std::min(std::max(0.0, std::max(under, over)), 1.0);
        }
        const int columns = compared_columns(node);
        return columns > 0 ? total / columns : 1.0;
    }

    // The most columns that a row of the node and the query both know.
    int compared_columns(index_t node) const {
        int columns = facts_.possible[static_cast<std::size_t>(node)];
        for (const index_t column : absent_) columns -= tree_.known[node * d_ + column] != 0;
        return columns;
    }

    template <class Goal>
    void scan(index_t node, double node_bound, Goal& goal) {
        const index_t first = tree_.panel[node], count = tree_.panel[node + 1] - first, lanes = count * panel_lanes;
        const std::int32_t* rows = tree_.order + first * panel_lanes;
        std::uint16_t least[mixed_leaf_rows / panel_lanes] = {};
        double distances[panel_lanes];
        const double limit = screen(node, byte_lanes_of(count), node_bound, goal.reach(), least);
        options_.complete = facts_.complete.data() + node * d_;
        for (index_t begin = 0; begin < lanes; begin += panel_lanes) {
            if (static_cast<double>(least[begin / panel_lanes]) > limit) continue;
            measure_(query_, tree_.panels + (first * panel_lanes + begin) * d_, 1, d_, options_, distances);
            for (index_t i = 0; i < panel_lanes && rows[begin + i] >= 0; ++i)
                if (goal.wants(distances[i], rows[begin + i])) goal.offer(distances[i], rows[begin + i]);
        }
    }

    // Adds up the bytes of a leaf, and gives the least sum of each panel: where it is above the limit that is returned, no
    // row of the panel is within `reach`.
    double screen(index_t node, index_t lanes, double node_bound, double reach, std::uint16_t* least) {
        const double unit = tree_.unit[node];
        const int columns = compared_columns(node);
        const double room = (reach * (1.0 + slack) - node_bound * (1.0 - slack)) * columns + slack;
        if (!(room < unit * 65536.0)) return 65536.0;
        byte_columns_.clear();
        const auto absence = static_cast<std::uint16_t>(std::min(std::floor(reach / unit), 65535.0));
        int numbers = 0;
        index_t codes = 0;
        for (const Cell& cell : present_) {
            const index_t at = node * d_ + cell.column;
            const bool whole = tree_.known[at] == 2;
            if (tree_.known[at] == 0 || (whole && tree_.low[at] == tree_.high[at])) continue;
            if (cell.nominal ? cell.value < tree_.base[at] || cell.value - tree_.base[at] >= largest_byte ||
                                   (whole && cell.value > tree_.high[at])
                             : ++numbers > most_numbers)
                continue;
            codes += cell.nominal;
            byte_columns_.push_back({tree_.bytes + tree_.byte_block[node] * byte_lanes + cell.column * lanes,
                                     to_byte(std::min(cell.value, tree_.high[at]), tree_.base[at], cell.nominal ? 1.0 : unit),
                                     static_cast<std::uint16_t>(cell.nominal), absence, whole});
        }
        if (codes > 0) {
            const double most = std::floor(14000.0 / static_cast<double>(codes));
            const auto mismatch = static_cast<std::uint16_t>(std::clamp(std::floor(1.0 / unit), 0.0, most));
            for (ByteColumn& column : byte_columns_)
                if (column.mismatch != 0) column.mismatch = mismatch;
        }
        add_bytes(byte_columns_.data(), static_cast<index_t>(byte_columns_.size()), lanes / byte_lanes, least);
        return room / unit + std::min(numbers, most_numbers) + 1.0;
    }

    const MixedTreeView& tree_;
    const NodeFacts& facts_;
    index_t d_;
    PanelDistances measure_;
    MetricOptions options_;
    const double* query_ = nullptr;
    std::vector<Cell> present_;
    std::vector<index_t> absent_;
    std::vector<ByteColumn> byte_columns_;
};

// Calls answer(walk, query) for every query, neighbouring queries one after the other.
template <class Answer>
void for_queries(const MixedTreeView& tree, Matrix<const double> queries, int threads, Answer&& answer) {
    const NodeFacts facts(tree, queries.cols);
    std::vector<std::int32_t> leaves(static_cast<std::size_t>(queries.rows));
    constexpr index_t grain = 64;
    parallel_chunks(queries.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
        MixedWalk walk(tree, facts, queries.cols);
        for (index_t i = begin; i < end; ++i) {
            walk.set_query(queries.row(i));
            leaves[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(walk.leaf_of_query());
        }
    });
    std::vector<index_t> turn(static_cast<std::size_t>(queries.rows));
    std::iota(turn.begin(), turn.end(), 0);
    std::stable_sort(turn.begin(), turn.end(), [&](index_t a, index_t b) {
        return leaves[static_cast<std::size_t>(a)] < leaves[static_cast<std::size_t>(b)];
    });
    parallel_chunks(queries.rows, grain, threads, [&](index_t, index_t begin, index_t end) {
        MixedWalk walk(tree, facts, queries.cols);
        for (index_t i = begin; i < end && !interrupted(); ++i) {
            const index_t query = turn[static_cast<std::size_t>(i)];
            walk.set_query(queries.row(query));
            answer(walk, query);
        }
    });
}

}  // namespace

MixedTree build_mixed_tree(Matrix<const double> rows, const std::uint8_t* nominal, int threads) {
    MixedTree tree;
    MixedBuilder(rows, nominal, tree).build(0, rows.rows);
    const auto panels = static_cast<index_t>(tree.order.size()) / panel_lanes;
    tree.panel.push_back(static_cast<std::int32_t>(panels));
    tree.panels.assign(static_cast<std::size_t>(panels * panel_lanes * rows.cols), 0.0);
    parallel_chunks(panels, 64, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin * panel_lanes; i < end * panel_lanes; ++i) {
            const std::int64_t row = tree.order[static_cast<std::size_t>(i)];
            double* lane = tree.panels.data() + i / panel_lanes * rows.cols * panel_lanes + i % panel_lanes;
            for (index_t j = 0; row >= 0 && j < rows.cols; ++j) lane[j * panel_lanes] = rows(row, j);
        }
    });
    return tree;
}

bool well_formed(const MixedTreeView& tree) {
    for (index_t node = 0; node < tree.nodes; ++node) {
        const std::int32_t right = tree.right[node], first = tree.panel[node], last = tree.panel[node + 1];
        if (first < 0 || last < first || last > tree.panel_total) return false;
        if (right < 0) {
            const index_t begin = tree.byte_block[node], blocks = byte_lanes_of(last - first) / byte_lanes * tree.d;
            if ((last - first) * panel_lanes > mixed_leaf_rows || begin < 0) return false;
            if ((begin + blocks) * byte_lanes > tree.byte_total) return false;
        }
        if (right >= 0 && (right <= node + 1 || right >= tree.nodes)) return false;
    }
    for (index_t i = 0; i < tree.panel_total * panel_lanes; ++i)
        if (tree.order[i] < -1 || tree.order[i] >= tree.n) return false;
    return tree.nodes > 0;
}

void nearest_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, index_t k, std::int64_t* nearest,
                           double* distances, int threads) {
    for_queries(tree, queries, threads, [&](MixedWalk& walk, index_t query) {
        KeepNearest goal(k);
        walk.visit(0, 0.0, goal);
        goal.write(nearest + query * k, distances + query * k);
    });
}

void count_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, double radius, std::int64_t* counts,
                         int threads) {
    for_queries(tree, queries, threads, [&](MixedWalk& walk, index_t query) {
        Tally goal{radius};
        walk.visit(0, 0.0, goal);
        counts[query] = goal.count;
    });
}

RadiusLists within_in_mixed_tree(const MixedTreeView& tree, Matrix<const double> queries, double radius, int threads) {
    RadiusCollector collector(queries.rows);
    for_queries(tree, queries, threads, [&](MixedWalk& walk, index_t query) {
        Gather goal{radius, query, collector};
        walk.visit(0, 0.0, goal);
    });
    return collector.lists();
}

}  // namespace assay::neighbours
