#include "assay/tables/plain_text.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::tables {
namespace {

constexpr index_t chunk_bytes = index_t{1} << 22;
constexpr int length_bits = 24;  // of a text cell, beside its place in the text
constexpr std::size_t most_labels = std::size_t{1} << 14;
constexpr std::uint64_t most_exact = std::uint64_t{1} << 53;
constexpr std::array<double, 23> powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

ASSAY_INLINE void scan_body(const std::uint8_t* text, index_t n, TextScan& found) {
    std::uint8_t high = 0, zero = 0, quote = 0;
    for (index_t begin = 0; begin < n; begin += 128) {
        const index_t end = begin + 128 < n ? begin + 128 : n;
        std::uint8_t lines = 0, returns = 0;
        for (index_t i = begin; i < end; ++i) {
            const std::uint8_t c = text[i];
            lines = static_cast<std::uint8_t>(lines + (c == '\n'));
            returns = static_cast<std::uint8_t>(returns + (c == '\r'));
            high |= c;
            zero = static_cast<std::uint8_t>(zero | (c == 0));
            quote = static_cast<std::uint8_t>(quote | (c == '"'));
        }
        found.lines += lines;
        found.returns += returns;
    }
    found.beyond_ascii = (high & 0x80) != 0;
    found.zero = zero != 0;
    found.quote = quote != 0;
    if (found.returns > 0)
        for (index_t i = 1; i < n; ++i) found.line_ends_with_return += text[i] == '\n' && text[i - 1] == '\r';
}
ASSAY_DISPATCH(void, scan_part, scan_body, (const std::uint8_t* text, index_t n, TextScan& found), (text, n, found))

// Large memory in large pages, which cost less to touch for the first time.
std::shared_ptr<void> large(std::size_t bytes) {
    constexpr std::size_t page = std::size_t{1} << 21;
    const std::size_t align = bytes < page ? 64 : page, size = (bytes + align - 1) / align * align;
    void* memory = std::aligned_alloc(align, size);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (align == page) madvise(memory, size, MADV_HUGEPAGE);
#endif
    return {memory, [](void* p) { std::free(p); }};
}

std::uint64_t load(const std::uint8_t* p) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    return word;
}

// Where the cell that begins here ends: the next separator or line end. Sees eight bytes at a time.
const std::uint8_t* cell_end(const std::uint8_t* p, std::uint8_t separator) {
    constexpr std::uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    const std::uint64_t separators = ones * separator, ends = ones * '\n';
    for (;; p += 8) {
        const std::uint64_t word = load(p), a = word ^ separators, b = word ^ ends;
        const std::uint64_t hit = (((a - ones) & ~a) | ((b - ones) & ~b)) & tops;
        // The lowest mark is always true; those above it may be borrowed.
        if (hit != 0) return p + std::countr_zero(hit) / 8;
    }
}

// Labels of one column in one chunk, by hashing with open addressing.
class LabelSet {
   public:
    std::vector<std::string_view> labels;

    // The code of a label; -1 if there are too many.
    std::int64_t code(const std::uint8_t* begin, std::size_t size) {
        if (slots_.empty()) slots_.assign(64, Slot{0, 0});
        std::uint64_t h = mix(size < 8 ? load(begin) & ((std::uint64_t{1} << (8 * size)) - 1) : load(begin), size);
        for (std::size_t k = 8; k < size; k += 8)
            h = mix(h ^ (size - k < 8 ? load(begin + k) & ((std::uint64_t{1} << (8 * (size - k))) - 1) : load(begin + k)),
                    k);
        h |= 1;
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (h >> 32) & mask;
        for (; slots_[at].hash != 0; at = (at + 1) & mask) {
            if (slots_[at].hash != h) continue;
            const std::string_view label = labels[slots_[at].code];
            if (label.size() == size && std::memcmp(label.data(), begin, size) == 0) return slots_[at].code;
        }
        if (labels.size() >= most_labels) return -1;
        const auto fresh = static_cast<std::uint32_t>(labels.size());
        labels.emplace_back(reinterpret_cast<const char*>(begin), size);
        slots_[at] = {h, fresh};
        if (labels.size() * 2 > slots_.size()) grow();
        return fresh;
    }

   private:
    struct Slot {
        std::uint64_t hash;  // 0: free
        std::uint32_t code;
    };
    std::vector<Slot> slots_;

    static std::uint64_t mix(std::uint64_t word, std::size_t salt) {
        const auto product = static_cast<unsigned __int128>(word ^ 0x9e3779b97f4a7c15) * (0xd6e8feb86659fd93 + 2 * salt);
        return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
    }
    void grow() {
        std::vector<Slot> larger(slots_.size() * 4, Slot{0, 0});
        const std::size_t mask = larger.size() - 1;
        for (const Slot& slot : slots_) {
            if (slot.hash == 0) continue;
            std::size_t at = (slot.hash >> 32) & mask;
            while (larger[at].hash != 0) at = (at + 1) & mask;
            larger[at] = slot;
        }
        slots_.swap(larger);
    }
};

// What one chunk found in one column, besides the cells it has put in their places.
struct Part {
    std::vector<index_t> missing;  // rows
    LabelSet labels;
    bool failed = false;
};

struct Chunk {
    const std::uint8_t *begin = nullptr, *end = nullptr;
    index_t first_row = 0, rows = 0;
    bool plain = true;
    std::vector<Part> parts;
};

bool general_number(const std::uint8_t* begin, const std::uint8_t* end, double& value) {
    const char *from = reinterpret_cast<const char*>(begin), *to = reinterpret_cast<const char*>(end);
    const auto [stop, error] = std::from_chars(from, to, value);
    return error == std::errc() && stop == to && std::abs(value) < static_cast<double>(most_exact);
}

// Where the cells of one column go; failing is the business of one chunk.
struct Place {
    CellKind kind;
    void* cells;
    Part* part;
};

class Reader {
   public:
    Reader(const std::uint8_t* text, std::uint8_t separator, const PlainTable& table, index_t longest)
        : text_(text), separator_(separator), table_(table), longest_(longest) {}

    void read(Chunk& chunk) const {
        const std::size_t width = table_.columns.size();
        chunk.parts.resize(width);
        std::vector<Place> places;
        for (std::size_t j = 0; j < width; ++j)
            places.push_back({table_.columns[j].kind, table_.columns[j].cells.get(), &chunk.parts[j]});
        const std::uint8_t* p = chunk.begin;
        for (index_t row = chunk.first_row; p < chunk.end; ++row) {
            const std::uint8_t* line = p;
            std::size_t empty = 0;
            for (std::size_t j = 0; j + 1 < width; ++j) {
                const std::uint8_t* begin = p;
                p = cell(places[j], p, row);
                empty += p == begin;
                if (*p++ != separator_) {
                    chunk.plain = false;
                    return;
                }
            }
            const std::uint8_t* begin = p;
            p = cell(places[width - 1], p, row);
            empty += p == begin;
            p += *p == '\r';
            // A row without any cell is left out of a table, so its places would be wrong.
            if (*p++ != '\n' || empty == width || p - line > longest_) {
                chunk.plain = false;
                return;
            }
        }
    }

   private:
    const std::uint8_t* text_;
    std::uint8_t separator_;
    const PlainTable& table_;
    index_t longest_;

    bool at_end(const std::uint8_t* p) const { return *p == separator_ || *p == '\n' || *p == '\r'; }

    const std::uint8_t* end_of(const std::uint8_t* begin) const {
        const std::uint8_t* end = cell_end(begin, separator_);
        return *end == '\n' && end > begin && end[-1] == '\r' ? end - 1 : end;
    }

    // Reads the cell that begins at p and returns its end.
    const std::uint8_t* cell(Place& place, const std::uint8_t* p, index_t row) const {
        switch (place.kind) {
            case CellKind::number: return number(place, p, row);
            case CellKind::whole: return whole(place, p, row);
            case CellKind::label: return label(place, p, row);
            case CellKind::text: return text(place, p, row);
            default: return end_of(p);
        }
    }

    static void fail(Place& place) {
        place.kind = CellKind::skip;
        place.part->failed = true;
    }

    const std::uint8_t* label(Place& place, const std::uint8_t* p, index_t row) const {
        const std::uint8_t* end = end_of(p);
        std::uint32_t code = 0;
        if (end == p) {
            place.part->missing.push_back(row);
        } else {
            const std::int64_t found = place.part->labels.code(p, static_cast<std::size_t>(end - p));
            if (found < 0) fail(place);
            code = static_cast<std::uint32_t>(found);
        }
        static_cast<std::uint32_t*>(place.cells)[row] = code;
        return end;
    }

    const std::uint8_t* text(Place& place, const std::uint8_t* p, index_t row) const {
        const std::uint8_t* end = end_of(p);
        if (end == p) place.part->missing.push_back(row);
        if (end - p >= index_t{1} << length_bits) fail(place);
        static_cast<std::int64_t*>(place.cells)[row + 1] = (p - text_) << length_bits | (end - p);
        return end;
    }

    const std::uint8_t* number(Place& place, const std::uint8_t* p, index_t row) const {
        double& out = static_cast<double*>(place.cells)[row];
        if (at_end(p)) {
            out = 0.0;
            place.part->missing.push_back(row);
            return p;
        }
        const std::uint8_t* begin = p;
        const bool negative = *p == '-';
        p += negative;
        const std::uint8_t* digits = p;
        std::uint64_t mantissa = 0;
        std::uint8_t d;
        while ((d = static_cast<std::uint8_t>(*p - '0')) < 10) mantissa = mantissa * 10 + d, ++p;
        const index_t before = p - digits;
        index_t after = 0;
        if (*p == '.') {
            const std::uint8_t* point = ++p;
            while ((d = static_cast<std::uint8_t>(*p - '0')) < 10) mantissa = mantissa * 10 + d, ++p;
            after = p - point;
        }
        if (at_end(p) && before > 0 && before + after <= 18 && mantissa < most_exact) {
            const double size = static_cast<double>(mantissa) / powers[static_cast<std::size_t>(after)];
            out = negative ? -size : size;
            return p;
        }
        const std::uint8_t* end = end_of(begin);
        if (!general_number(begin, end, out)) fail(place);
        return end;
    }

    const std::uint8_t* whole(Place& place, const std::uint8_t* p, index_t row) const {
        std::int64_t& out = static_cast<std::int64_t*>(place.cells)[row];
        if (at_end(p)) {
            out = 0;
            place.part->missing.push_back(row);
            return p;
        }
        const bool negative = *p == '-';
        p += negative;
        const std::uint8_t* digits = p;
        std::int64_t value = 0;
        std::uint8_t d;
        while ((d = static_cast<std::uint8_t>(*p - '0')) < 10 && p - digits < 19) value = value * 10 + d, ++p;
        const index_t size = p - digits;
        if (!at_end(p) || size == 0 || size > 18 || (*digits == '0' && (size > 1 || negative))) {
            fail(place);
            return end_of(p);
        }
        out = negative ? -value : value;
        return p;
    }
};

void gather(PlainColumn& column, std::size_t j, const std::vector<Chunk>& chunks, index_t rows,
            const std::uint8_t* text) {
    for (const Chunk& chunk : chunks) {
        column.failed = column.failed || chunk.parts[j].failed;
        column.missing += static_cast<index_t>(chunk.parts[j].missing.size());
    }
    if (column.failed || column.kind == CellKind::skip) {
        column.cells.reset();
        return;
    }
    if (column.missing > 0) {
        column.valid.assign(static_cast<std::size_t>((rows + 7) / 8), 0xff);
        for (const Chunk& chunk : chunks)
            for (const index_t row : chunk.parts[j].missing)
                column.valid[static_cast<std::size_t>(row / 8)] &= static_cast<std::uint8_t>(~(1u << (row % 8)));
    }
    if (column.kind == CellKind::label) {
        std::unordered_map<std::string_view, std::uint32_t> known;
        auto* codes = static_cast<std::uint32_t*>(column.cells.get());
        for (const Chunk& chunk : chunks) {
            const auto& own = chunk.parts[j].labels.labels;
            std::vector<std::uint32_t> to(std::max<std::size_t>(own.size(), 1), 0);
            bool moved = false;
            for (std::size_t k = 0; k < own.size(); ++k) {
                const auto [at, fresh] = known.try_emplace(own[k], static_cast<std::uint32_t>(column.labels.size()));
                if (fresh) column.labels.emplace_back(own[k]);
                to[k] = at->second;
                moved = moved || to[k] != k;
            }
            if (!moved) continue;
            for (index_t row = chunk.first_row; row < chunk.first_row + chunk.rows; ++row) codes[row] = to[codes[row]];
        }
    } else if (column.kind == CellKind::text) {
        auto* offsets = static_cast<std::int64_t*>(column.cells.get());
        constexpr std::int64_t length = (std::int64_t{1} << length_bits) - 1;
        std::int64_t size = 0;
        for (index_t row = 0; row < rows; ++row) size += offsets[row + 1] & length;
        column.bytes = std::static_pointer_cast<std::uint8_t>(large(static_cast<std::size_t>(size) + 1));
        offsets[0] = 0;
        for (index_t row = 0; row < rows; ++row) {
            const std::int64_t cell = offsets[row + 1];
            std::memcpy(column.bytes.get() + offsets[row], text + (cell >> length_bits), static_cast<std::size_t>(cell & length));
            offsets[row + 1] = offsets[row] + (cell & length);
        }
    }
}

}  // namespace

TextScan scan_text(Vector<const std::uint8_t> text, int threads) {
    std::vector<TextScan> parts(static_cast<std::size_t>(chunk_count(text.size, chunk_bytes)));
    parallel_chunks(text.size, chunk_bytes, threads, [&](index_t c, index_t begin, index_t end) {
        scan_part(text.data + begin, end - begin, parts[static_cast<std::size_t>(c)]);
        // A line end may stand at the seam.
        if (begin > 0 && text.data[begin] == '\n' && text.data[begin - 1] == '\r')
            ++parts[static_cast<std::size_t>(c)].line_ends_with_return;
    });
    TextScan all;
    for (const TextScan& part : parts) {
        all.lines += part.lines;
        all.returns += part.returns;
        all.line_ends_with_return += part.line_ends_with_return;
        all.zero = all.zero || part.zero;
        all.beyond_ascii = all.beyond_ascii || part.beyond_ascii;
        all.quote = all.quote || part.quote;
    }
    return all;
}

PlainTable read_plain(std::uint8_t* text, index_t size, std::uint8_t separator, const std::vector<CellKind>& kinds,
                      index_t longest, int threads) {
    PlainTable table;
    if (size == 0) return table;
    // The last line gets the end it may lack; what follows stops every search.
    const std::uint8_t* stop = text + size;
    if (text[size - 1] != '\n') {
        text[size] = '\n';
        ++stop;
    }
    std::vector<Chunk> chunks;
    for (const std::uint8_t* begin = text; begin < stop;) {
        const std::uint8_t* end = begin + std::min<index_t>(chunk_bytes, stop - begin);
        if (end < stop)
            end = static_cast<const std::uint8_t*>(std::memchr(end, '\n', static_cast<std::size_t>(stop - end))) + 1;
        chunks.push_back({begin, end, 0, 0, true, {}});
        begin = end;
    }
    const auto n_chunks = static_cast<index_t>(chunks.size());
    parallel_chunks(n_chunks, 1, threads, [&](index_t c, index_t, index_t) {
        TextScan found;
        Chunk& chunk = chunks[static_cast<std::size_t>(c)];
        scan_part(chunk.begin, chunk.end - chunk.begin, found);
        chunk.rows = found.lines;
    });
    for (Chunk& chunk : chunks) {
        chunk.first_row = table.rows;
        table.rows += chunk.rows;
    }
    table.columns.resize(kinds.size());
    for (std::size_t j = 0; j < kinds.size(); ++j) {
        PlainColumn& column = table.columns[j];
        column.kind = kinds[j];
        if (column.kind == CellKind::skip) continue;
        const std::size_t each = column.kind == CellKind::label ? 4 : 8;
        column.cells = large(each * static_cast<std::size_t>(table.rows + 1));
    }
    const Reader reader(text, separator, table, longest);
    // Threads go through stretches far from each other: two that first touch one large page would both clear it.
    const index_t stretch = chunk_count(n_chunks, std::max(threads, 1));
    parallel_chunks(stretch * std::max(threads, 1), 1, threads, [&](index_t c, index_t, index_t) {
        const index_t at = c % std::max(threads, 1) * stretch + c / std::max(threads, 1);
        if (at < n_chunks) reader.read(chunks[static_cast<std::size_t>(at)]);
    });
    table.plain = std::all_of(chunks.begin(), chunks.end(), [](const Chunk& chunk) { return chunk.plain; });
    if (!table.plain) {
        table.columns.clear();
        return table;
    }
    parallel_chunks(static_cast<index_t>(kinds.size()), 1, threads, [&](index_t j, index_t, index_t) {
        gather(table.columns[static_cast<std::size_t>(j)], static_cast<std::size_t>(j), chunks, table.rows,
               text);
    });
    return table;
}

}  // namespace assay::tables
