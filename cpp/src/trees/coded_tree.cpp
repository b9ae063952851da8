#include <algorithm>

#include "assay/trees/histogram_tree.hpp"

namespace assay::trees {

CodedTree::CodedTree(const Forest& forest, const Bins& bins, index_t tree) : bins_(bins) {
    const auto first = static_cast<std::size_t>(forest.offsets[static_cast<std::size_t>(tree)]);
    tests_.resize(static_cast<std::size_t>(forest.offsets[static_cast<std::size_t>(tree) + 1]) - first);
    for (std::size_t i = 0; i < tests_.size(); ++i) {
        CodedTest& test = tests_[i];
        const std::size_t at = first + i;
        test.child[0] = test.child[1] = static_cast<std::int32_t>(i);
        if (forest.feature[at] < 0) continue;
        test.column = forest.feature[at];
        test.child[0] = forest.right[at];
        test.child[1] = forest.left[at];
        const auto j = static_cast<std::size_t>(test.column);
        const std::int32_t missing = bins.n_bins[j];
        if (forest.categories[at] < 0) {
            const auto& cuts = bins.cuts[j];
            test.last_left = static_cast<std::uint8_t>(std::lower_bound(cuts.begin(), cuts.end(), forest.threshold[at]) - cuts.begin());
            if (forest.missing_left[at] != 0) test.missing = static_cast<std::uint16_t>(missing);
            continue;
        }
        test.set = static_cast<std::int32_t>(sets_.size());
        CodeSet& set = sets_.emplace_back();
        if (forest.missing_left[at] != 0) put_in(set, missing);
        for (index_t c = 0; c < bins.n_categories[j]; ++c)
            if ((forest.words[static_cast<std::size_t>(forest.categories[at] + c / 64)] >> (c % 64) & 1) != 0)
                put_in(set, bins.bin_of_category[j][static_cast<std::size_t>(c)]);
    }
}

std::int32_t CodedTree::leaf(index_t row) const {
    std::int32_t node = 0;
    while (true) {
        const CodedTest& test = tests_[static_cast<std::size_t>(node)];
        if (is_leaf(test)) return node;
        node = test.child[goes_left(test, bins_.code(row, test.column)) ? 1 : 0];
    }
}

}  // namespace assay::trees
