#include "assay/tables/coded_columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>

#include "assay/common/freed_memory.hpp"
#include "assay/common/order_keys.hpp"
#include "assay/common/threads.hpp"

namespace assay::tables {
namespace {

constexpr index_t columns_per_task = 2;  // neighbours share cache lines of the C-ordered cells
constexpr std::size_t ahead = 24;
constexpr int digit_bits = 11, digits = 3, buckets = 1 << digit_bits;

// Work of one thread: the rows of one column as items (upper half of the key, row).
struct Work {
    std::vector<std::uint64_t, Unwritten<std::uint64_t>> items, spare;
};
using Items = decltype(Work::items);

// The lower halves of the keys of a column, read from its cells where they are asked for: most columns need few of them.
struct LowHalves {
    Matrix<const double> cells;
    index_t column;
    bool same;  // those of a sign are one

    static index_t row(std::uint64_t item) { return static_cast<std::uint32_t>(item); }
    std::uint64_t of(std::uint64_t item) const { return to_key(cells(row(item), column)) << 32; }
    void prefetch(std::uint64_t item) const { __builtin_prefetch(&cells(row(item), column)); }
};

// Radix sort of the items by the upper half of the key.
void sort_items(Items& items, Items& spare) {
    const std::size_t n = items.size();
    if (n < 256) {
        std::sort(items.begin(), items.end());
        return;
    }
    std::array<std::array<std::uint32_t, buckets>, digits> counts{};
    for (const std::uint64_t item : items)
        for (int d = 0; d < digits; ++d) ++counts[d][(item >> (32 + d * digit_bits)) & (buckets - 1)];
    spare.resize(n);
    for (int d = 0; d < digits; ++d) {
        auto& count = counts[d];
        const int shift = 32 + d * digit_bits;
        if (count[(items[0] >> shift) & (buckets - 1)] == n) continue;
        std::uint32_t sum = 0;
        for (auto& c : count) {
            const std::uint32_t size = c;
            c = sum;
            sum += size;
        }
        for (const std::uint64_t item : items) spare[count[(item >> shift) & (buckets - 1)]++] = item;
        items.swap(spare);
    }
}

// Items in order of the upper half become entries in order of the whole key. Items whose upper halves agree are few or hold
// one value; the lower half takes the place of the upper one, and they are put in order by that.
void write_entries(Items& items, const LowHalves& low, Entry* entries) {
    const std::size_t n = items.size();
    const auto upper = [&](std::size_t i) { return items[i] >> 32; };
    const auto write = [&](std::size_t begin, std::size_t end) {
        if (begin == end) return;
        entries[begin] = static_cast<Entry>(items[begin]) | fresh_bit<Entry>;
        for (std::size_t i = begin + 1; i < end; ++i)
            entries[i] = static_cast<Entry>(items[i]) | (upper(i) != upper(i - 1) ? fresh_bit<Entry> : 0);
    };
    if (low.same) return write(0, n);
    for (std::size_t begin = 0, end; begin < n; begin = end) {
        const std::uint64_t own = upper(begin);
        end = begin + 1;
        if (end == n || upper(end) != own) {
            entries[begin] = static_cast<Entry>(items[begin]) | fresh_bit<Entry>;
            continue;
        }
        for (; end < n && upper(end) == own; ++end)
            if (end + ahead < n) low.prefetch(items[end + ahead]);
        for (std::size_t i = begin; i < end; ++i) items[i] = low.of(items[i]) | static_cast<std::uint32_t>(items[i]);
        const auto first = items.begin() + static_cast<index_t>(begin), last = items.begin() + static_cast<index_t>(end);
        if (!std::is_sorted(first, last)) std::sort(first, last);
        write(begin, end);
    }
}

// The upper halves of the keys stand where the entries will; ~0 is a missing cell, which no number has.
constexpr std::uint32_t no_key = ~std::uint32_t{0};

void order_column(Work& work, const LowHalves& low, Entry* entries, index_t n) {
    work.items.resize(static_cast<std::size_t>(n));
    index_t present = 0;
    for (index_t i = 0; i < n; ++i) {
        work.items[static_cast<std::size_t>(present)] = std::uint64_t{entries[i]} << 32 | static_cast<std::uint32_t>(i);
        present += entries[i] != no_key;
    }
    work.items.resize(static_cast<std::size_t>(present));
    if (present < n) {
        // Rows of missing cells go to the end, in order; the cells behind them are still to be read.
        index_t at = n;
        for (index_t i = n - 1; i >= 0 && at > present; --i)
            if (entries[i] == no_key) entries[--at] = static_cast<Entry>(i) | missing_bit<Entry>;
        entries[present] |= fresh_bit<Entry>;
    }
    sort_items(work.items, work.spare);
    write_entries(work.items, low, entries);
}

}  // namespace

void sort_columns(Matrix<const double> cells, Vector<const std::int32_t> n_categories, Entry* order, int threads) {
    const index_t n = cells.rows, d = cells.cols;
    // Made here and not by each thread, whose allocator would keep the memory for itself.
    std::vector<Work> works(static_cast<std::size_t>(std::max<index_t>(1, std::min<index_t>(threads, chunk_count(d, columns_per_task)))));
    for (Work& work : works) {
        work.items.reserve(static_cast<std::size_t>(n));
        work.spare.reserve(static_cast<std::size_t>(n));
    }
    parallel_chunks(d, columns_per_task, static_cast<int>(works.size()), [&](index_t, index_t first, index_t last) {
        Work& work = works[static_cast<std::size_t>(thread_number()) % works.size()];
        std::uint32_t any[columns_per_task] = {}, all[columns_per_task] = {~0U, ~0U};  // bits of the lower half that one cell has, that all have
        const auto read = [&](index_t i, index_t j, std::uint32_t& some, std::uint32_t& every) {
            const double cell = cells(i, j);
            const bool absent = std::isnan(cell) || (n_categories[j] > 0 && !(cell >= 0 && cell < n_categories[j]));
            order[j * n + i] = absent ? no_key : static_cast<std::uint32_t>(to_key(cell) >> 32);
            const auto low = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(cell));
            some |= absent ? 0 : low;
            every &= absent ? ~0U : low;
        };
        static_assert(columns_per_task == 2);
        for (index_t i = 0; i < n; ++i) {
            read(i, first, any[0], all[0]);
            if (last - first == columns_per_task) read(i, first + 1, any[1], all[1]);
        }
        for (index_t j = first; j < last; ++j)
            order_column(work, {cells, j, any[j - first] == all[j - first]}, order + j * n, n);
    });
}

void choose_rows(const Entry* order, index_t n, index_t d, Vector<const std::int32_t> rows, Entry* chosen, int threads) {
    const index_t m = rows.size;
    bool rising = true;
    for (index_t i = 1; i < m && rising; ++i) rising = rows[i] > rows[i - 1];
    // The places of row r are places[first[r]] .. ; with rising rows each has one or none.
    std::vector<std::int32_t> place, places;
    std::vector<std::int64_t> first;
    if (rising) {
        place.assign(static_cast<std::size_t>(n), -1);
        for (index_t i = 0; i < m; ++i) place[static_cast<std::size_t>(rows[i])] = static_cast<std::int32_t>(i);
    } else {
        first.assign(static_cast<std::size_t>(n) + 1, 0);
        for (index_t i = 0; i < m; ++i) ++first[static_cast<std::size_t>(rows[i]) + 1];
        for (std::size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
        std::vector<std::int64_t> at(first.begin(), first.end() - 1);
        places.resize(static_cast<std::size_t>(m));
        for (index_t i = 0; i < m; ++i)
            places[static_cast<std::size_t>(at[static_cast<std::size_t>(rows[i])]++)] = static_cast<std::int32_t>(i);
    }
    parallel_chunks(d, 1, threads, [&](index_t j, index_t, index_t) {
        const Entry *from = order + j * n, *end = from + n;
        Entry *to = chosen + j * m, fresh = 0;
        if (rising) {
            Entry* const last = to + m;
            for (; from != end && to != last; ++from) {
                fresh |= *from & fresh_bit<Entry>;
                const std::int32_t at = place[static_cast<std::size_t>(row_of(*from))];
                *to = static_cast<Entry>(at) | fresh | (*from & missing_bit<Entry>);
                const bool taken = at >= 0;
                to += taken;
                fresh = taken ? 0 : fresh;
            }
            return;
        }
        for (; from != end; ++from) {
            fresh |= *from & fresh_bit<Entry>;
            const auto row = static_cast<std::size_t>(row_of(*from));
            for (std::int64_t k = first[row]; k < first[row + 1]; ++k) {
                *to++ = static_cast<Entry>(places[static_cast<std::size_t>(k)]) | fresh | (*from & missing_bit<Entry>);
                fresh = 0;
            }
        }
    });
}

std::uint32_t count_codes(const CodedColumns& columns, const Entry* order, index_t column) {
    if (columns.nominal(column)) return static_cast<std::uint32_t>(columns.n_categories[column]);
    const index_t n = columns.cells.rows;
    const Entry* entries = order + column * n;
    const index_t present = n == 0 ? 0 : n - count_missing(entries, n);
    std::uint32_t count = present > 0 ? 1 : 0;
    for (index_t i = 1; i < present; ++i) count += is_fresh(entries[i]);
    return count;
}

RankCodes rank_codes(const CodedColumns& columns, const Entry* order, Vector<const std::int64_t> rows, int threads) {
    RankCodes codes;
    const index_t n = columns.cells.rows, d = columns.n_columns(), m = rows.size;
    codes.n = m;
    codes.d = d;
    const auto size = static_cast<std::size_t>(d);
    std::vector<std::uint32_t> distinct(size);
    parallel_chunks(d, 1, threads, [&](index_t j, index_t, index_t) {
        distinct[static_cast<std::size_t>(j)] = count_codes(columns, order, j);
    });
    codes.first.assign(size + 1, 0);
    codes.offsets.assign(size + 1, 0);
    codes.width.resize(size);
    for (std::size_t j = 0; j < size; ++j) {
        codes.width[j] = distinct[j] <= 0xFF ? 1 : distinct[j] <= 0xFFFF ? 2 : 4;
        codes.first[j + 1] = (codes.first[j] + codes.width[j] * m + 7) / 8 * 8;
        codes.offsets[j + 1] = codes.offsets[j] + distinct[j];
    }
    codes.bytes.resize(static_cast<std::size_t>(codes.first.back()));
    codes.values.resize(static_cast<std::size_t>(codes.offsets.back()));
    std::vector<std::int32_t> place(static_cast<std::size_t>(n), -1);
    for (index_t i = 0; i < m; ++i) place[static_cast<std::size_t>(rows[i])] = static_cast<std::int32_t>(i);
    parallel_chunks(d, 1, threads, [&](index_t j, index_t, index_t) {
        const auto column = static_cast<std::size_t>(j);
        double* values = codes.values.data() + codes.offsets[column];
        if (columns.nominal(j))
            for (std::uint32_t v = 0; v < distinct[column]; ++v) values[v] = static_cast<double>(v);
        const auto fill = [&](auto* to) {
            std::uint32_t last = distinct[column];
            visit_codes(columns, order, j, distinct[column], [&](index_t row, std::uint32_t code) {
                if (code != last && code != distinct[column] && !columns.nominal(j)) values[code] = columns.value(row, j);
                last = code;
                const std::int32_t at = place[static_cast<std::size_t>(row)];
                if (at >= 0) to[at] = static_cast<std::remove_reference_t<decltype(*to)>>(code);
            });
        };
        std::uint8_t* to = codes.bytes.data() + codes.first[column];
        switch (codes.width[column]) {
            case 1: fill(to); break;
            case 2: fill(reinterpret_cast<std::uint16_t*>(to)); break;
            default: fill(reinterpret_cast<std::uint32_t*>(to));
        }
    });
    return codes;
}

}  // namespace assay::tables
