// What a forest grows by: the rows of a node, nodes that wait for their test, the test that is best so far, and what threads share.
#pragma once

#include <bit>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "forest_words.hpp"
#include "small_nodes.hpp"

namespace assay::ensembles {
namespace {

struct Split {
    double score = -infinity;
    std::int32_t column = -1;
    index_t bin = 0;
    bool nominal = false, missing_left = false, missing_seen = false;
    CodeSet set{}, held{};   // nominal: codes that go left, that the node holds
    double luck = 0;          // taken off the score
    double edge = -infinity;  // codes that it does not hold go left if they stand no higher
    bool found() const { return column >= 0; }
};

// Rows of the sample: places from `begin` to `end`, or those of a set, counted from `base`. `all` asks until the answer is false.
struct Places {
    index_t begin, end;
    template <class Ask>
    bool all(Ask&& ask) const {
        for (index_t i = begin; i < end; ++i)
            if (!ask(i)) return false;
        return true;
    }
};
struct PlacesOfSet {
    index_t base;
    RowSet set;
    template <class Ask>
    bool all(Ask&& ask) const {
        for (RowSet rest = set; rest != 0; rest &= rest - 1)
            if (!ask(base + std::countr_zero(rest))) return false;
        return true;
    }
};

// What threads use one after the other.
template <class T>
class Pool {
public:
    template <class Make>
    std::unique_ptr<T> take(Make&& make) {
        {
            const std::lock_guard lock(mutex_);
            if (!idle_.empty()) {
                auto one = std::move(idle_.back());
                idle_.pop_back();
                return one;
            }
        }
        return make();
    }
    void give_back(std::unique_ptr<T> one) {
        const std::lock_guard lock(mutex_);
        idle_.push_back(std::move(one));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> idle_;
};

// A node that waits for its test.
template <class Rows>
struct Open {
    Rows rows;
    index_t depth;
    std::int32_t parent;
    bool is_right;
    Word sum;  // of the words, where they say all of a row
};

}  // namespace
}  // namespace assay::ensembles
