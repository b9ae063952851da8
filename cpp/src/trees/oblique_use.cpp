#include "assay/common/threads.hpp"
#include "assay/trees/oblique.hpp"

namespace assay::trees {
namespace {

bool goes_left(const TreeView& tree, const LinearTests& tests, std::int32_t node, const double* row) {
    if (tests.row[node] >= 0) {
        const double *weight = tests.weight.row(tests.row[node]), *fill = tests.fill.row(tests.row[node]);
        double sum = 0;
        for (index_t j = 0; j < tests.columns.size; ++j) {
            if (weight[j] == 0) continue;
            const double cell = row[tests.columns[j]];
            sum += weight[j] * (cell == cell ? cell : fill[j]);
        }
        return sum <= tree.threshold[node];
    }
    const double cell = row[tree.feature[node]];
    const std::int64_t set = tree.categories[node];
    if (set < 0) return cell == cell ? cell <= tree.threshold[node] : tree.missing_left[node] != 0;
    if (!(cell >= 0 && cell < tree.n_categories[tree.feature[node]])) return tree.missing_left[node] != 0;
    const auto code = static_cast<std::uint32_t>(cell);
    return (tree.words[set + code / 64] >> (code % 64) & 1U) != 0;
}

}  // namespace

void apply_oblique(const TreeView& tree, const LinearTests& tests, Matrix<const double> cells, Vector<std::int32_t> leaf,
                   int threads) {
    if (cells.rows < 16384) threads = 1;
    parallel_chunks(cells.rows, 4096, threads, [&](index_t, index_t begin, index_t end) {
        for (index_t i = begin; i < end; ++i) {
            std::int32_t node = 0;
            while (tree.feature[node] >= 0)
                node = goes_left(tree, tests, node, cells.row(i)) ? tree.left[node] : tree.right[node];
            leaf[i] = node;
        }
    });
}

}  // namespace assay::trees
