#include <algorithm>
#include <limits>
#include <queue>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "assay/trees/cart.hpp"

namespace assay::trees {
namespace {

bool goes_left(const TreeView& tree, std::int32_t node, double cell) {
    const std::int64_t set = tree.categories[node];
    if (set < 0) {
        if (cell != cell) return tree.missing_left[node] != 0;
        return cell <= tree.threshold[node];
    }
    const std::int32_t known = tree.n_categories[tree.feature[node]];
    if (!(cell >= 0 && cell < known)) return tree.missing_left[node] != 0;
    const auto code = static_cast<std::uint32_t>(cell);
    return (tree.words[set + code / 64] >> (code % 64) & 1U) != 0;
}

std::int32_t leaf_of(const TreeView& tree, const double* row) {
    std::int32_t node = 0;
    while (tree.feature[node] >= 0)
        node = goes_left(tree, node, row[tree.feature[node]]) ? tree.left[node] : tree.right[node];
    return node;
}

// For many rows a node becomes 16 bytes, the two children of a node neighbours, and a leaf its own child: the next
// node is `child + (goes right)` without a branch that could be mispredicted. Several rows descend in turn, so that
// their loads overlap; a row that has reached its leaf makes place for the next one.
constexpr index_t lanes = 8;
constexpr std::uint32_t missing_left_bit = 1U << 31, nominal_bit = 1U << 30, feature_bits = nominal_bit - 1;

struct PackedNode {
    double threshold;       // a leaf has infinity
    std::uint32_t feature;  // column and the two flags; a leaf has column 0, and missing cells go left
    std::int32_t child;     // the left child; a leaf has itself
};

struct PackedTree {
    std::vector<PackedNode> nodes;
    std::vector<std::int32_t> original;
    bool nominal = false;
};

PackedTree pack(const TreeView& tree) {
    const auto n = static_cast<std::size_t>(tree.feature.size);
    PackedTree packed;
    packed.nodes.resize(n);
    packed.original.resize(n);
    std::int32_t free = 1;
    std::vector<std::int32_t> stack{0};  // places whose original is known and whose children have no place yet
    while (!stack.empty()) {
        const std::int32_t place = stack.back();
        stack.pop_back();
        const std::int32_t node = packed.original[static_cast<std::size_t>(place)];
        const std::int32_t feature = tree.feature[node];
        PackedNode& made = packed.nodes[static_cast<std::size_t>(place)];
        if (feature < 0) {
            made = {std::numeric_limits<double>::infinity(), missing_left_bit, place};
            continue;
        }
        made = {tree.threshold[node], static_cast<std::uint32_t>(feature), free};
        if (tree.missing_left[node] != 0) made.feature |= missing_left_bit;
        if (tree.categories[node] >= 0) {
            made.feature |= nominal_bit;
            packed.nominal = true;
        }
        packed.original[static_cast<std::size_t>(free)] = tree.left[node];
        packed.original[static_cast<std::size_t>(free) + 1] = tree.right[node];
        stack.push_back(free + 1);
        stack.push_back(free);
        free += 2;
    }
    return packed;
}

template <bool with_nominal>
ASSAY_INLINE std::int32_t next_node(const TreeView& tree, const PackedTree& packed, std::int32_t at, const double* row) {
    const PackedNode& node = packed.nodes[static_cast<std::size_t>(at)];
    const double cell = row[node.feature & feature_bits];
    if constexpr (with_nominal) {
        if ((node.feature & nominal_bit) != 0)
            return node.child + (goes_left(tree, packed.original[static_cast<std::size_t>(at)], cell) ? 0 : 1);
    }
    const std::uint32_t missing = static_cast<std::uint32_t>(cell != cell) & (node.feature >> 31);
    return node.child + 1 - static_cast<std::int32_t>(static_cast<std::uint32_t>(cell <= node.threshold) | missing);
}

template <bool with_nominal>
void descend(const TreeView& tree, const PackedTree& packed, Matrix<const double> cells, index_t begin, index_t end,
             Vector<std::int32_t> leaf) {
    const double* row[lanes];
    std::int32_t at[lanes];
    index_t number[lanes];
    const index_t used = std::min(lanes, end - begin);
    for (index_t l = 0; l < used; ++l) {
        number[l] = begin + l;
        row[l] = cells.row(begin + l);
        at[l] = 0;
    }
    index_t waiting = begin + used;
    while (waiting < end) {
        for (index_t l = 0; l < lanes; ++l) {
            std::int32_t next = next_node<with_nominal>(tree, packed, at[l], row[l]);
            if (next == at[l]) [[unlikely]] {
                leaf[number[l]] = packed.original[static_cast<std::size_t>(next)];
                if (waiting == end) continue;  // written again below
                number[l] = waiting;
                row[l] = cells.row(waiting++);
                next = 0;
            }
            at[l] = next;
        }
    }
    for (index_t l = 0; l < used; ++l) {
        std::int32_t next = at[l];
        do {
            at[l] = next;
            next = next_node<with_nominal>(tree, packed, at[l], row[l]);
        } while (next != at[l]);
        leaf[number[l]] = packed.original[static_cast<std::size_t>(next)];
    }
}

}  // namespace

void apply_tree(const TreeView& tree, Matrix<const double> cells, Vector<std::int32_t> leaf, int threads) {
    if (cells.rows < 16384) threads = 1;  // a millisecond of work: waking other threads would not pay
    if (cells.rows < lanes || cells.rows < tree.feature.size / 8) {  // packing would cost more than it saves
        parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
            for (index_t i = begin; i < end; ++i) leaf[i] = leaf_of(tree, cells.row(i));
        });
        return;
    }
    const PackedTree packed = pack(tree);
    parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
        if (packed.nominal)
            descend<true>(tree, packed, cells, begin, end, leaf);
        else
            descend<false>(tree, packed, cells, begin, end, leaf);
    });
}

PruningPath weakest_links(Vector<const std::int32_t> parent, const double* risk) {
    const auto n = static_cast<std::size_t>(parent.size);
    const auto up = [&](std::size_t i) { return parent[static_cast<index_t>(i)]; };
    constexpr double never = std::numeric_limits<double>::infinity();
    PruningPath path;
    path.cut_at.assign(n, never);
    std::vector<std::int32_t> leaves(n, 0), size(n, 1);
    std::vector<double> below(n, 0.0);
    for (std::size_t i = n; i-- > 0;) {  // children follow their parent
        if (leaves[i] == 0) {
            leaves[i] = 1;
            below[i] = risk[i];
            path.cut_at[i] = 0;
        }
        if (i == 0) break;
        const auto above = static_cast<std::size_t>(up(i));
        leaves[above] += leaves[i];
        size[above] += size[i];
        below[above] += below[i];
    }
    const auto link = [&](std::size_t i) { return leaves[i] > 1 ? (risk[i] - below[i]) / (leaves[i] - 1) : 0.0; };
    std::vector<std::uint8_t> gone(n, 0);  // leaves, and what was below a cut
    // A cut below takes a ratio that is no larger, so a value only rises (but for rounding, when it is queued at once):
    // the queued key is a lower bound, and a node is queued again only when its key comes up and has been left behind.
    using Entry = std::pair<double, std::int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<double> key(n, never);
    const auto enqueue = [&](std::size_t i, double value) {
        key[i] = value;
        queue.emplace(value, static_cast<std::int32_t>(i));
    };
    for (std::size_t i = 0; i < n; ++i) {
        gone[i] = path.cut_at[i] == 0;
        if (gone[i] == 0) enqueue(i, link(i));
    }
    double reached = 0;
    path.alphas.push_back(0.0);
    path.impurities.push_back(below[0]);
    while (!queue.empty()) {
        const auto [value, node] = queue.top();
        const auto at = static_cast<std::size_t>(node);
        queue.pop();
        if (gone[at] != 0 || value != key[at]) continue;
        if (const double now = link(at); now != value) {
            enqueue(at, now);
            continue;
        }
        reached = std::max(reached, value);
        path.cut_at[at] = reached;
        std::fill_n(gone.begin() + node, size[at], std::uint8_t{1});
        const std::int32_t fewer = leaves[at] - 1;
        const double more = risk[at] - below[at];
        for (std::int32_t i = node; i >= 0; i = parent[i]) {
            const auto above = static_cast<std::size_t>(i);
            leaves[above] -= fewer;
            below[above] += more;
            if (const double now = link(above); i != node && now < key[above]) enqueue(above, now);
        }
        path.alphas.push_back(reached);
        path.impurities.push_back(below[0]);
    }
    return path;
}

}  // namespace assay::trees
