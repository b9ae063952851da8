#include <queue>

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

}  // namespace

void apply_tree(const TreeView& tree, Matrix<const double> cells, Vector<std::int32_t> leaf, int threads) {
    parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            const double* row = cells.row(i);
            std::int32_t node = 0;
            while (tree.feature[node] >= 0)
                node = goes_left(tree, node, row[tree.feature[node]]) ? tree.left[node] : tree.right[node];
            leaf[i] = node;
        }
    });
}

PruningPath prune_path(Vector<const std::int32_t> left, Vector<const std::int32_t> right, const double* risk,
                       double alpha) {
    const auto n = static_cast<std::size_t>(left.size);
    PruningPath path;
    path.is_leaf.assign(n, 0);
    std::vector<std::int32_t> parent(n, -1), leaves(n, 1);
    std::vector<double> below(n);
    for (std::size_t i = n; i-- > 0;) {  // children follow their parent
        const std::int32_t l = left[static_cast<index_t>(i)], r = right[static_cast<index_t>(i)];
        path.is_leaf[i] = l < 0;
        below[i] = risk[i];
        if (l < 0) continue;
        parent[static_cast<std::size_t>(l)] = parent[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(i);
        leaves[i] = leaves[static_cast<std::size_t>(l)] + leaves[static_cast<std::size_t>(r)];
        below[i] = below[static_cast<std::size_t>(l)] + below[static_cast<std::size_t>(r)];
    }
    const auto link = [&](std::size_t i) { return (risk[i] - below[i]) / (leaves[i] - 1); };
    // Values only change when something below is cut; an entry that no longer holds the current value is skipped.
    using Entry = std::pair<double, std::int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::size_t i = 0; i < n; ++i)
        if (path.is_leaf[i] == 0) queue.emplace(link(i), static_cast<std::int32_t>(i));
    path.alphas.push_back(0.0);
    path.impurities.push_back(below[0]);
    std::vector<std::int32_t> stack;
    while (!queue.empty()) {
        const auto [value, node] = queue.top();
        const auto at = static_cast<std::size_t>(node);
        queue.pop();
        if (path.is_leaf[at] != 0 || value != link(at)) continue;
        if (value > alpha) break;
        stack.assign(1, node);
        while (!stack.empty()) {
            const std::int32_t i = stack.back();
            stack.pop_back();
            path.is_leaf[static_cast<std::size_t>(i)] = 1;
            if (left[i] < 0) continue;
            stack.push_back(left[i]);
            stack.push_back(right[i]);
        }
        const std::int32_t fewer = leaves[at] - 1;
        const double more = risk[at] - below[at];
        for (std::int32_t i = node; i >= 0; i = parent[static_cast<std::size_t>(i)]) {
            const auto up = static_cast<std::size_t>(i);
            leaves[up] -= fewer;
            below[up] += more;
            if (i != node) queue.emplace(link(up), i);
        }
        path.alphas.push_back(value);
        path.impurities.push_back(below[0]);
    }
    return path;
}

}  // namespace assay::trees
