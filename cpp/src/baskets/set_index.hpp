// Where a set of items stands in a list of sets: an open table of hashes that are the exclusive or of a random key per item.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"

namespace assay::baskets {

class SetIndex {
public:
    SetIndex(Vector<const std::int64_t> starts, Vector<const std::int32_t> items, index_t n_items)
        : starts_(starts), items_(items), keys_(static_cast<std::size_t>(n_items)) {
        Random random(0x17E75E75);
        for (std::uint64_t& one : keys_) one = random.bits64();
        const auto sets = static_cast<std::uint64_t>(starts.size - 1);
        table_.assign(static_cast<std::size_t>(std::bit_ceil(2 * sets + 2)), -1);
        mask_ = table_.size() - 1;
        for (index_t s = 0; s < starts.size - 1; ++s) {
            std::size_t place = static_cast<std::size_t>(hash_of(members(s))) & mask_;
            while (table_[place] >= 0) place = (place + 1) & mask_;
            table_[place] = s;
        }
    }
    std::span<const std::int32_t> members(index_t set) const {
        return {items_.data + starts_[set], static_cast<std::size_t>(starts_[set + 1] - starts_[set])};
    }
    // The place of a set, its items ascending; -1 if it is not in the list.
    index_t find(std::span<const std::int32_t> wanted) const {
        std::size_t place = static_cast<std::size_t>(hash_of(wanted)) & mask_;
        for (; table_[place] >= 0; place = (place + 1) & mask_) {
            const std::span<const std::int32_t> held = members(table_[place]);
            if (std::equal(held.begin(), held.end(), wanted.begin(), wanted.end())) return table_[place];
        }
        return -1;
    }

private:
    std::uint64_t hash_of(std::span<const std::int32_t> held) const {
        std::uint64_t sum = 0;
        for (const std::int32_t item : held) sum ^= keys_[static_cast<std::size_t>(item)];
        return sum;
    }
    Vector<const std::int64_t> starts_;
    Vector<const std::int32_t> items_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::int64_t> table_;
    std::size_t mask_ = 0;
};

}  // namespace assay::baskets
