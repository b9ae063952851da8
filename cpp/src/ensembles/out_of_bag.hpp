// The loss of a tree on the rows that it did not draw, and its loss after each column is permuted among them.
//
// The rows stand in a random order of the tree, and in column j each takes the cell of the row that stands k_j places further on (around
// the end), k_j drawn from 1 .. m - 1: a permutation in which no row keeps its cell. Each row goes down the tree once with its own cells;
// where a test of column j would send the taken cell elsewhere for the first time, a walk begins at the child on that other side. Columns
// that are not on the path of a row, and cells that go the same way, cost nothing. Rows and walks move level by level, many
// side by side, so that no one waits for the memory of another.
// Cost O(m (d + levels)) and one walk from the parting on per row and column that parts. Reference: Breiman, Machine Learning 45, 2001, section 10.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/ensembles/random_forest.hpp"
#include "assay/trees/histogram_tree.hpp"
#include "forest_words.hpp"
#include "grown_trees.hpp"

namespace assay::ensembles {
namespace {

class OutOfBag {
public:
    OutOfBag(const Bins& bins, const ForestTarget& target, const OneTree& tree)
        : bins_(bins), target_(target), nodes_(tree.nodes), tests_(tree.nodes, bins, 0), stride_(bins.blocks * block_columns) {
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(bins.n); ++i)
            if (!tree.drawn[static_cast<std::size_t>(i)]) rows_.push_back(i);
        if (target.labels == nullptr) return;
        const auto nodes = tree.nodes.feature.size(), width = static_cast<std::size_t>(target.width);
        label_of_leaf_.resize(nodes);
        for (std::size_t v = 0; v < nodes; ++v) {
            if (tree.nodes.feature[v] >= 0) continue;
            const auto value = tree.nodes.value.begin() + static_cast<index_t>(v * width);
            label_of_leaf_[v] = static_cast<std::int32_t>(std::max_element(value, value + target.width) - value);
        }
    }

    index_t size() const { return static_cast<index_t>(rows_.size()); }

    // The mean loss; OUT `permuted` (by column, if given): the mean loss with that column permuted.
    double losses(std::uint64_t key, std::uint64_t stream, double* permuted) {
        if (permuted != nullptr) draw_order(key, stream);
        take_codes();
        rises_.assign(static_cast<std::size_t>(bins_.d), 0.0);
        double loss = 0, weight = 0;
        for (index_t begin = 0; begin < size(); begin += together) {
            const index_t end = std::min(size(), begin + together);
            send_rows(begin, end, permuted != nullptr);
            for (index_t i = begin; i < end; ++i) {
                const double w = weight_of_row(i);
                loss += w * own_loss_[static_cast<std::size_t>(i - begin)];
                weight += w;
            }
            if (permuted != nullptr) finish_walks(begin);
        }
        for (index_t j = 0; j < bins_.d && permuted != nullptr; ++j) permuted[j] = (loss + rises_[static_cast<std::size_t>(j)]) / weight;
        return loss / weight;
    }

private:
    static constexpr index_t together = 256;

    // A row on its way: `column` reads `code` instead of the row's own (no column: -1).
    struct Walk {
        std::int32_t node, row, column, code;
    };

    const std::uint8_t* codes(index_t i) const { return codes_.data() + i * stride_; }
    double weight_of_row(index_t i) const { return target_.weights != nullptr ? target_.weights[rows_[static_cast<std::size_t>(i)]] : 1.0; }

    void draw_order(std::uint64_t key, std::uint64_t stream) {
        Random random(key, stream);
        for (std::size_t i = rows_.size(); i > 1; --i) std::swap(rows_[i - 1], rows_[random.below(static_cast<std::uint32_t>(i))]);
        further_.assign(static_cast<std::size_t>(bins_.d), 0);
        for (index_t& places : further_) places = size() > 1 ? 1 + random.below(static_cast<std::uint32_t>(size() - 1)) : 0;
    }

    void take_codes() {
        codes_.resize(static_cast<std::size_t>(size() * stride_));
        for (index_t b = 0; b < bins_.blocks; ++b)
            for (index_t i = 0; i < size(); ++i)
                std::memcpy(codes_.data() + i * stride_ + b * block_columns, bins_.block(b) + rows_[static_cast<std::size_t>(i)] * block_columns, block_columns);
    }

    // Rows begin .. end - 1 to their leaves; where the cell that a row takes parts from its own, a walk begins.
    void send_rows(index_t begin, index_t end, bool permuting) {
        const index_t words = permuting ? (bins_.d + 63) / 64 : 0;
        parted_.assign(static_cast<std::size_t>(together * words), 0);
        moving_.resize(static_cast<std::size_t>(end - begin));
        for (index_t i = begin; i < end; ++i) moving_[static_cast<std::size_t>(i - begin)] = {0, static_cast<std::int32_t>(i), -1, 0};
        walks_.clear();
        own_loss_.resize(static_cast<std::size_t>(together));
        const auto arrive = [&](const Walk& walk) { own_loss_[static_cast<std::size_t>(walk.row - begin)] = loss_at(walk.node, walk.row); };
        if (!permuting) return move_all(moving_, [](const Walk&, const trees::CodedTest&, bool, bool) {}, arrive);
        begun_ = 0;
        move_all(moving_, [&](const Walk& walk, const trees::CodedTest& test, bool left, bool leaf) {
            if (begun_ == walks_.size()) walks_.resize(2 * begun_ + together);
            index_t other = walk.row + further_[static_cast<std::size_t>(test.column)];
            other -= other >= size() ? size() : 0;
            const std::uint8_t code = codes(other)[test.column];
            std::uint64_t& parted = parted_[static_cast<std::size_t>((walk.row - begin) * words + test.column / 64)];
            const bool parts = (tests_.goes_left(test, code) != left) & !leaf;
            const std::uint64_t bit = std::uint64_t{parts} << (test.column % 64);
            walks_[begun_] = {test.child[left ? 0 : 1], walk.row, test.column, code};
            begun_ += (bit & ~parted) != 0 ? 1 : 0;
            parted |= bit;
        }, arrive);
        walks_.resize(begun_);
    }

    void finish_walks(index_t begin) {
        move_all(walks_, [](const Walk&, const trees::CodedTest&, bool, bool) {}, [&](const Walk& walk) {
            const double rise = loss_at(walk.node, walk.row) - own_loss_[static_cast<std::size_t>(walk.row - begin)];
            rises_[static_cast<std::size_t>(walk.column)] += weight_of_row(walk.row) * rise;
        });
    }

    // Moves all walks level by level; calls at(walk, test, goes left, is a leaf) at each node and arrive(walk) after the leaf.
    // A walk is written to both lists, one of which moves on: where it goes is hard to guess.
    template <class At, class Arrive>
    void move_all(std::vector<Walk>& walks, At&& at, Arrive&& arrive) {
        arrived_.resize(std::max(arrived_.size(), walks.size()));
        for (std::size_t count = walks.size(); count > 0;) {
            std::size_t kept = 0, ended = 0;
            for (std::size_t k = 0; k < count; ++k) {
                Walk walk = walks[k];
                const trees::CodedTest& test = tests_[walk.node];
                const std::int32_t own = codes(walk.row)[test.column];
                const bool left = tests_.goes_left(test, test.column == walk.column ? walk.code : own);
                const bool leaf = trees::CodedTree::is_leaf(test);
                at(walk, test, left, leaf);
                walk.node = test.child[left ? 1 : 0];
                arrived_[ended] = walks[kept] = walk;
                ended += leaf ? 1 : 0;
                kept += leaf ? 0 : 1;
            }
            for (std::size_t k = 0; k < ended; ++k) arrive(arrived_[k]);
            count = kept;
        }
    }

    // Errors, or squared error.
    double loss_at(std::int32_t leaf, index_t i) const {
        const std::int32_t row = rows_[static_cast<std::size_t>(i)];
        if (target_.labels != nullptr) return label_of_leaf_[static_cast<std::size_t>(leaf)] == target_.labels[row] ? 0.0 : 1.0;
        const double* value = nodes_.value.data() + static_cast<index_t>(leaf) * target_.width;
        double loss = 0;
        for (index_t k = 0; k < target_.width; ++k) {
            const double rest = target_.y[row * target_.width + k] - value[k];
            loss += rest * rest;
        }
        return loss;
    }

    const Bins& bins_;
    const ForestTarget& target_;
    const trees::Forest& nodes_;
    const trees::CodedTree tests_;
    const index_t stride_;
    std::vector<std::int32_t> rows_, label_of_leaf_;
    std::vector<index_t> further_;    // by column: places to the row whose cell is taken
    std::vector<std::uint8_t> codes_;  // of the rows, one after the other
    std::vector<Walk> moving_, walks_, arrived_;
    std::size_t begun_ = 0;  // of the walks
    std::vector<std::uint64_t> parted_;  // by row of a block: a bit for each column whose cell went elsewhere already
    std::vector<double> own_loss_, rises_;
};

}  // namespace
}  // namespace assay::ensembles
