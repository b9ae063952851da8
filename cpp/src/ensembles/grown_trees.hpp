// Finished trees of a forest: their tests on codes, the leaves of binned rows, and how they join the forest in their order.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "assay/trees/bins.hpp"
#include "assay/trees/forest.hpp"

namespace assay::ensembles {
namespace {

// A finished tree, with its tests on codes beside those on values.
struct OneTree {
    trees::Forest nodes;
    std::vector<std::uint8_t> bin;
    std::vector<std::int32_t> set;                  // nominal: place in `sets`, else -1
    std::vector<trees::CodeSet> sets;               // codes that go left
    std::vector<bool> drawn;                        // by row, where rows out of bag are asked for

    // No nodes, with the room that there is.
    void clear() {
        nodes.offsets.assign(1, 0);
        for (auto* list : {&nodes.feature, &nodes.left, &nodes.right, &set}) list->clear();
        for (auto* list : {&nodes.threshold, &nodes.value, &nodes.rows, &nodes.weight, &nodes.gain}) list->clear();
        nodes.categories.clear();
        nodes.words.clear();
        nodes.missing_left.clear();
        bin.clear();
        sets.clear();
        drawn.clear();
    }
};

// The values of the leaf of a row of the bins; the nodes of the tree are those of `f` from `first` on.
const double* values_of(const OneTree& tree, const trees::Forest& f, std::size_t first, const trees::Bins& bins, index_t row) {
    std::size_t node = 0;
    while (true) {
        const std::size_t at = first + node;
        const std::int32_t feature = f.feature[at];
        if (feature < 0) return f.value.data() + at * static_cast<std::size_t>(f.width);
        const index_t code = bins.code(row, feature);
        const bool left = code == bins.n_bins[static_cast<std::size_t>(feature)]
                              ? f.missing_left[at] != 0
                              : (tree.set[node] >= 0 ? trees::in_set(tree.sets[static_cast<std::size_t>(tree.set[node])], code) : code <= tree.bin[node]);
        node = static_cast<std::size_t>(left ? f.left[at] : f.right[at]);
    }
}

// Finished trees join the forest in their order, each as soon as those before it have: few are held twice, and few wait.
class Joining {
public:
    Joining(trees::Forest& forest, std::vector<OneTree>& trees, bool keeps_codes)
        : forest_(forest), trees_(trees), keeps_codes_(keeps_codes), finished_(trees.size(), false) {}

    // A tree without nodes that may have room for them.
    OneTree empty() {
        const std::lock_guard lock(mutex_);
        if (spare_.empty()) return {};
        OneTree tree = std::move(spare_.back());
        spare_.pop_back();
        tree.clear();
        return tree;
    }

    void finish(index_t number) {
        const std::lock_guard lock(mutex_);
        finished_[static_cast<std::size_t>(number)] = true;
        for (; next_ < trees_.size() && finished_[next_]; ++next_) {
            OneTree& tree = trees_[next_];
            // Room that is never written to costs nothing; a forest that outgrows it is moved.
            if (next_ == 0) trees::reserve(forest_, tree.nodes.feature.size() * trees_.size() * 5 / 4);
            trees::append(forest_, tree.nodes);
            if (keeps_codes_)
                tree.nodes = trees::Forest{};
            else
                spare_.push_back(std::exchange(tree, OneTree{}));
        }
    }

private:
    std::mutex mutex_;
    trees::Forest& forest_;
    std::vector<OneTree>& trees_;
    const bool keeps_codes_;
    std::vector<bool> finished_;
    std::vector<OneTree> spare_;
    std::size_t next_ = 0;
};

}  // namespace
}  // namespace assay::ensembles
