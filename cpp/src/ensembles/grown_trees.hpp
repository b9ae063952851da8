// Finished trees of a forest: their tests on codes, the leaves of binned rows, and how they join the forest in their order.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "assay/ensembles/random_forest.hpp"
#include "assay/trees/bins.hpp"
#include "assay/trees/forest.hpp"
#include "small_nodes.hpp"

namespace assay::ensembles {
namespace {

// A finished tree, with its tests on codes beside those on values.
struct OneTree {
    trees::Forest nodes;
    std::vector<std::uint8_t> bin;
    std::vector<std::int32_t> set;                  // nominal: place in `sets`, else -1
    std::vector<trees::CodeSet> sets;               // codes that go left
    std::vector<bool> drawn;                        // by row, where rows out of bag are asked for
    std::vector<std::int32_t> leaves;               // of asked rows

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
        leaves.clear();
    }
};

// The leaf of a row of the bins; the nodes of the tree are those of `f` from `first` on.
inline std::int32_t leaf_of_row(const OneTree& tree, const trees::Forest& f, std::size_t first, const trees::Bins& bins, index_t row) {
    std::size_t node = 0;
    while (true) {
        const std::size_t at = first + node;
        const std::int32_t feature = f.feature[at];
        if (feature < 0) return static_cast<std::int32_t>(node);
        const index_t code = bins.code(row, feature);
        const bool left = code == bins.n_bins[static_cast<std::size_t>(feature)]
                              ? f.missing_left[at] != 0
                              : (tree.set[node] >= 0 ? trees::in_set(tree.sets[static_cast<std::size_t>(tree.set[node])], code) : code <= tree.bin[node]);
        node = static_cast<std::size_t>(left ? f.left[at] : f.right[at]);
    }
}
inline const double* values_of(const OneTree& tree, const trees::Forest& f, std::size_t first, const trees::Bins& bins, index_t row) {
    return f.value.data() + (first + static_cast<std::size_t>(leaf_of_row(tree, f, first, bins, row))) * static_cast<std::size_t>(f.width);
}

// The leaves of asked rows in a tree that was just grown, while its nodes are at hand: the rows go down together and are parted at each test,
// by sets where few are left.
class Answers {
public:
    Answers(const AskedRows& asked, index_t width, int threads) : bins_(asked.rows), level_(asked.level), width_(width) {
        if (bins_ != nullptr) columns_ = codes_by_column(*bins_, threads);
    }

    index_t size() const { return bins_ == nullptr ? 0 : bins_->n * width_; }
    bool wanted() const { return bins_ != nullptr; }

    void find(OneTree& tree) const { Descent(*this, tree).find(); }

    // Adds the values of the leaves.
    void add(const OneTree& tree, double* sums) const {
        for (index_t i = 0; i < bins_->n; ++i) {
            const double* value = tree.nodes.value.data() + static_cast<index_t>(tree.leaves[static_cast<std::size_t>(i)]) * width_;
            for (index_t c = 0; c < width_; ++c) sums[i * width_ + c] += level_ == nullptr ? value[c] : value[c] + level_[c];
        }
    }

private:
    class Descent {
    public:
        Descent(const Answers& answers, OneTree& tree)
            : bins_(*answers.bins_), columns_(answers.columns_.data()), tree_(tree), rows_(static_cast<std::size_t>(bins_.n)),
              spare_(rows_.size() + 16), codes_(static_cast<std::size_t>(bins_.blocks * trees::block_columns * set_rows)),
              taken_(static_cast<std::size_t>(bins_.blocks), -1) {
            std::iota(rows_.begin(), rows_.end(), 0);
            tree.leaves.resize(rows_.size());
        }

        void find() {
            struct Part {
                std::size_t node;
                index_t begin, end;
            };
            std::vector<Part> stack{{0, 0, bins_.n}};
            while (!stack.empty()) {
                const Part at = stack.back();
                stack.pop_back();
                if (at.end - at.begin <= set_rows) {
                    find_few(at.node, at.begin, at.end);
                    continue;
                }
                if (tree_.nodes.feature[at.node] < 0) {
                    for (index_t i = at.begin; i < at.end; ++i) leaf(i) = static_cast<std::int32_t>(at.node);
                    continue;
                }
                const index_t middle = at.begin + divide(at.node, rows_.data() + at.begin, at.end - at.begin);
                stack.push_back({child(tree_.nodes.right, at.node), middle, at.end});
                stack.push_back({child(tree_.nodes.left, at.node), at.begin, middle});
            }
        }

    private:
        std::int32_t& leaf(index_t place) { return tree_.leaves[static_cast<std::size_t>(rows_[static_cast<std::size_t>(place)])]; }
        static std::size_t child(const std::vector<std::int32_t>& of, std::size_t node) { return static_cast<std::size_t>(of[node]); }
        bool goes_left(std::size_t node, index_t code) const {
            if (code == bins_.n_bins[static_cast<std::size_t>(tree_.nodes.feature[node])]) return tree_.nodes.missing_left[node] != 0;
            return tree_.set[node] >= 0 ? trees::in_set(tree_.sets[static_cast<std::size_t>(tree_.set[node])], code) : code <= tree_.bin[node];
        }

        // How many of these rows go left; they come first.
        index_t divide(std::size_t node, std::int32_t* rows, index_t m) {
            const std::int32_t column = tree_.nodes.feature[node];
            const std::uint8_t* code = columns_ + column * bins_.n;
            index_t left = 0, right = 0, done = 0;
            if (divide_ != nullptr && tree_.set[node] < 0) {
                const index_t other = tree_.nodes.missing_left[node] != 0 ? bins_.n_bins[static_cast<std::size_t>(column)] : -1;
                trees::Word sum = 0;
                index_t next = 0;
                done = m / set_rows * set_rows;
                left = divide_(code, rows, nullptr, done, tree_.bin[node], other, spare_.data(), nullptr, sum, next);
                right = done - left;
            }
            for (index_t i = done; i < m; ++i) {
                const std::int32_t row = rows[i];
                const bool goes = goes_left(node, code[row]);
                rows[left] = spare_[static_cast<std::size_t>(right)] = row;
                left += goes ? 1 : 0;
                right += goes ? 0 : 1;
            }
            std::copy_n(spare_.data(), right, rows + left);
            return left;
        }

        void find_few(std::size_t top, index_t begin, index_t end) {
            struct Part {
                std::size_t node;
                RowSet set;
            };
            std::array<Part, set_rows + 1> stack;
            const index_t m = end - begin;
            stack[0] = {top, first_rows(m)};
            for (std::size_t open = m > 0 ? 1 : 0; open > 0;) {
                const auto [node, set] = stack[--open];
                const std::int32_t column = tree_.nodes.feature[node];
                if (column < 0) {
                    for (RowSet rest = set; rest != 0; rest &= rest - 1) leaf(begin + std::countr_zero(rest)) = static_cast<std::int32_t>(node);
                    continue;
                }
                const index_t block = column / trees::block_columns;
                std::uint8_t* own = codes_.data() + block * trees::block_columns * set_rows;
                // Parts follow each other, and the place where one begins names it.
                if (std::exchange(taken_[static_cast<std::size_t>(block)], begin) != begin) turn_block(bins_.block(block), rows_.data() + begin, m, own);
                own += column % trees::block_columns * set_rows;
                RowSet left = 0;
                if (tree_.set[node] >= 0) {
                    for (RowSet rest = set; rest != 0; rest &= rest - 1)
                        if (goes_left(node, own[std::countr_zero(rest)])) left |= rest & (0 - rest);
                } else {
                    left = tools_.at_most(own, tree_.bin[node], set);
                    const auto present = static_cast<std::uint8_t>(bins_.n_bins[static_cast<std::size_t>(column)] - 1);
                    if (tree_.nodes.missing_left[node] != 0) left |= set & ~tools_.at_most(own, present, set);
                }
                if ((set & ~left) != 0) stack[open++] = {child(tree_.nodes.right, node), set & ~left};
                if (left != 0) stack[open++] = {child(tree_.nodes.left, node), left};
            }
        }

        const trees::Bins& bins_;
        const std::uint8_t* columns_;
        OneTree& tree_;
        std::vector<std::int32_t> rows_, spare_;
        std::vector<std::uint8_t> codes_;
        std::vector<index_t> taken_;
        const SetTools tools_ = set_tools();
        const Divide divide_ = divide_tool<false>();
    };

    const trees::Bins* bins_;
    const double* level_;
    const index_t width_;
    LargeVector<std::uint8_t> columns_;
};

// Finished trees join the forest in their order, each as soon as those before it have: few are held twice, and few wait.
class Joining {
public:
    // Where rows are asked, OUT sums of what they are told, and no forest.
    Joining(trees::Forest& forest, std::vector<OneTree>& trees, bool keeps_codes, const Answers& answers, std::vector<double>& sums)
        : forest_(forest), trees_(trees), keeps_codes_(keeps_codes), answers_(answers), sums_(sums), finished_(trees.size(), false) {
        sums_.assign(static_cast<std::size_t>(answers.size()), 0.0);
    }

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
            if (answers_.wanted()) {
                answers_.add(tree, sums_.data());
                spare_.push_back(std::exchange(tree, OneTree{}));
                continue;
            }
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
    const Answers& answers_;
    std::vector<double>& sums_;
    std::vector<bool> finished_;
    std::vector<OneTree> spare_;
    std::size_t next_ = 0;
};

}  // namespace
}  // namespace assay::ensembles
