#include <algorithm>

#include "assay/common/threads.hpp"
#include "assay/trees/multiway.hpp"

namespace assay::trees {
namespace {

constexpr std::int32_t everywhere = -1;

// The child that a cell leads to, or `everywhere`.
std::int32_t child_of(const MultiwayView& tree, std::int32_t node, double cell) {
    const std::int64_t first = tree.branch[node];
    if (first < 0) {
        if (cell != cell) return everywhere;
        return cell <= tree.threshold[node] ? tree.left[node] : tree.right[node];
    }
    const std::int32_t known = tree.n_categories[tree.feature[node]];
    if (!(cell >= 0 && cell < known)) return everywhere;
    return tree.branches[first + static_cast<index_t>(cell)];
}

std::int32_t heaviest(const MultiwayView& tree, std::int32_t node) {
    const std::int64_t first = tree.branch[node];
    if (first < 0) return tree.missing_left[node] != 0 ? tree.left[node] : tree.right[node];
    return tree.branches[first + tree.n_categories[tree.feature[node]]];
}

// The distinct children of a node that carry weight.
void weighty_children(const MultiwayView& tree, std::int32_t node, std::vector<std::int32_t>& children) {
    children.clear();
    const std::int64_t first = tree.branch[node];
    if (first < 0) {
        children = {tree.left[node], tree.right[node]};
    } else {
        const index_t known = tree.n_categories[tree.feature[node]];
        for (index_t c = 0; c < known; ++c) children.push_back(tree.branches[first + c]);
        std::sort(children.begin(), children.end());
        children.erase(std::unique(children.begin(), children.end()), children.end());
    }
    std::erase_if(children, [&](std::int32_t child) { return !(tree.weight[child] > 0); });
}

}  // namespace

void apply_multiway(const MultiwayView& tree, Matrix<const double> cells, Vector<std::int32_t> leaf, int threads) {
    parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            std::int32_t node = 0;
            while (tree.feature[node] >= 0) {
                const std::int32_t next = child_of(tree, node, cells(i, tree.feature[node]));
                node = next == everywhere ? heaviest(tree, node) : next;
            }
            leaf[i] = node;
        }
    });
}

void multiway_shares(const MultiwayView& tree, Matrix<const double> cells, Matrix<double> shares, int threads) {
    parallel_chunks(cells.rows, 1024, threads, [&](index_t, index_t begin, index_t end) {
        std::vector<std::pair<std::int32_t, double>> waiting;
        std::vector<std::int32_t> children;
        for (index_t i = begin; i < end; ++i) {
            double* out = shares.row(i);
            std::fill(out, out + tree.n_classes, 0.0);
            bool parted = false;
            waiting.assign(1, {0, 1.0});
            while (!waiting.empty()) {
                auto [node, weight] = waiting.back();
                waiting.pop_back();
                while (tree.feature[node] >= 0) {
                    const std::int32_t next = child_of(tree, node, cells(i, tree.feature[node]));
                    if (next == everywhere) break;
                    node = next;
                }
                if (tree.feature[node] < 0) {
                    const double* value = tree.value + static_cast<index_t>(node) * tree.n_classes;
                    for (index_t k = 0; k < tree.n_classes; ++k) out[k] += weight * value[k];
                    continue;
                }
                parted = true;
                weighty_children(tree, node, children);
                double total = 0;
                for (const std::int32_t child : children) total += tree.weight[child];
                for (auto child = children.rbegin(); child != children.rend(); ++child)
                    waiting.emplace_back(*child, weight * tree.weight[*child] / total);
            }
            if (!parted) continue;
            double total = 0;
            for (index_t k = 0; k < tree.n_classes; ++k) total += out[k];
            for (index_t k = 0; k < tree.n_classes; ++k) out[k] /= total;
        }
    });
}

}  // namespace assay::trees
