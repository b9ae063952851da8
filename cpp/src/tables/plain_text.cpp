#include "assay/tables/plain_text.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>

#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"

namespace assay::tables {
namespace {

constexpr index_t scan_bytes = index_t{1} << 22;
constexpr index_t longest_text = index_t{1} << 24;  // of one cell
constexpr index_t slack = index_t{1} << 16;         // read beyond a block at once: mostly the rest of its last line
constexpr std::size_t most_labels = std::size_t{1} << 14;
constexpr std::size_t most_bytes = std::numeric_limits<std::int32_t>::max() - longest_text;
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

bool is_plain(const TextScan& seen) { return !seen.zero && !seen.beyond_ascii && !seen.quote; }

// Large memory in large pages, which cost less to touch for the first time, and given back at once when it is let go:
// what goes through malloc may stay with the process.
std::shared_ptr<void> large(std::size_t bytes) {
    constexpr std::size_t page = std::size_t{1} << 21;
    const std::size_t size = bytes < page ? std::max<std::size_t>(bytes, 1) : bytes + page;
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    auto first = reinterpret_cast<std::uintptr_t>(memory);
    if (bytes >= page) {
        first = (first + page - 1) / page * page;
#ifdef MADV_HUGEPAGE
        // Whole pages only: the rest of the last one would be touched for nothing.
        madvise(reinterpret_cast<void*>(first), bytes / page * page, MADV_HUGEPAGE);
#endif
    }
    return {reinterpret_cast<void*>(first), [memory, size](void*) { munmap(memory, size); }};
}

// All of [begin, begin + n) of a file; false where it ends before, or cannot be read.
bool read_at(int file, std::uint8_t* to, index_t n, index_t begin) {
    while (n > 0) {
        const auto count = pread(file, to, static_cast<std::size_t>(n), static_cast<off_t>(begin));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        to += count;
        begin += count;
        n -= count;
    }
    return true;
}

// Room for a piece of a file.
struct Buffer {
    std::shared_ptr<void> held;
    index_t room = 0;

    // Keeps the first `used` bytes.
    std::uint8_t* grow(index_t bytes, index_t used) {
        if (room < bytes) {
            const index_t larger = std::max(bytes, 2 * room);
            auto fresh = large(static_cast<std::size_t>(larger));
            if (used > 0) std::memcpy(fresh.get(), held.get(), static_cast<std::size_t>(used));
            held = std::move(fresh);
            room = larger;
        }
        return static_cast<std::uint8_t*>(held.get());
    }
};

// One buffer for each thread at work, used again and again.
class Buffers {
   public:
    Buffer take() {
        const std::lock_guard lock(guard_);
        if (free_.empty()) return {};
        Buffer buffer = std::move(free_.back());
        free_.pop_back();
        return buffer;
    }
    void give(Buffer&& buffer) {
        const std::lock_guard lock(guard_);
        free_.push_back(std::move(buffer));
    }

   private:
    std::mutex guard_;
    std::vector<Buffer> free_;
};

const std::uint8_t* line_end(const std::uint8_t* from, const std::uint8_t* to) {
    return from < to ? static_cast<const std::uint8_t*>(std::memchr(from, '\n', static_cast<std::size_t>(to - from)))
                     : nullptr;
}

// Bytes [begin, end) of the text, as they are.
const std::uint8_t* bytes_of(const TextSource& source, index_t begin, index_t end, Buffer& buffer) {
    if (source.memory != nullptr) return source.memory + begin;
    std::uint8_t* to = buffer.grow(end - begin + padding, 0);
    return read_at(source.file, to, end - begin, begin) ? to : nullptr;
}

struct Lines {
    const std::uint8_t *begin = nullptr, *end = nullptr;
};

// The lines that begin in block [from, to) of a text [first, last), each with its end, then bytes that stop every search.
// False if the text cannot be read, or the line that goes beyond the block is too long.
bool lines_of(const TextSource& source, index_t first, index_t last, index_t from, index_t to, index_t longest,
              Buffer& buffer, Lines& found) {
    const index_t start = from > first ? from - 1 : from;  // where a line begins shows in the byte before
    const index_t sure = to - 1 - start;                   // the line end sought is here or later
    std::uint8_t* text = source.memory != nullptr ? source.memory + start : nullptr;
    index_t have = text != nullptr ? last - start : 0;
    const std::uint8_t* stop = text != nullptr && to < last ? line_end(text + sure, text + have) : nullptr;
    for (index_t want = std::min(to + slack, last) - start; text == nullptr || (stop == nullptr && have < last - start);
         want = std::min(2 * have, last - start)) {
        if (have - sure > longest) return false;
        const index_t sought = std::max(have, sure);
        text = buffer.grow(want + padding, have);
        if (!read_at(source.file, text + have, want - have, start + have)) return false;
        have = want;
        stop = to < last ? line_end(text + sought, text + have) : nullptr;
    }
    if (stop != nullptr) {
        found.end = stop + 1;
    } else {
        found.end = text + have;
        // The last line gets the end it may lack; in memory it has been put there.
        if (text[have - 1] != '\n') {
            if (source.memory == nullptr) text[have] = '\n';
            ++found.end;
        }
    }
    found.begin = text;
    if (start < from) {
        const std::uint8_t* before = line_end(text, found.end);
        found.begin = before != nullptr ? before + 1 : found.end;
    }
    return true;
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
    std::vector<std::string> labels;

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
            const std::string& label = labels[slots_[at].code];
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

// What one block found in one column, besides the cells it has put in their places.
struct Part {
    std::vector<index_t> missing;  // rows
    LabelSet labels;
    std::vector<std::uint8_t> bytes;  // of long texts
    TextBytes kept;
    bool failed = false;

    // What was written goes where it is given back at once.
    void keep() {
        if (bytes.empty()) return;
        kept = {std::static_pointer_cast<std::uint8_t>(large(bytes.size())), static_cast<index_t>(bytes.size())};
        std::memcpy(kept.bytes.get(), bytes.data(), bytes.size());
        std::vector<std::uint8_t>().swap(bytes);  // assigning {} would keep the room
    }
};

struct Block {
    index_t from = 0, to = 0, number = 0;
    index_t first_row = 0, rows = 0;
    bool plain = true;
    std::vector<Part> parts;
};

bool general_number(const std::uint8_t* begin, const std::uint8_t* end, double& value) {
    const char *from = reinterpret_cast<const char*>(begin), *to = reinterpret_cast<const char*>(end);
    const auto [stop, error] = std::from_chars(from, to, value);
    return error == std::errc() && stop == to && std::abs(value) < static_cast<double>(most_exact);
}

// Where the cells of one column go; failing is the business of one block.
struct Place {
    CellKind kind;
    void* cells;
    Part* part;
    std::int32_t block;
};

class Reader {
   public:
    Reader(std::uint8_t separator, const PlainTable& table, index_t longest)
        : separator_(separator), table_(table), longest_(longest) {}

    void read(Block& block, const Lines& lines) const {
        const std::size_t width = table_.columns.size();
        block.parts.resize(width);
        // A file may have changed since its lines were counted.
        TextScan seen;
        scan_part(lines.begin, lines.end - lines.begin, seen);
        block.plain = is_plain(seen) && seen.returns == seen.line_ends_with_return && seen.lines == block.rows;
        if (!block.plain) return;
        std::vector<Place> places;
        for (std::size_t j = 0; j < width; ++j)
            places.push_back({table_.columns[j].kind, table_.columns[j].cells.get(), &block.parts[j],
                              static_cast<std::int32_t>(block.number)});
        rows_of(block, lines, places);
        for (Part& part : block.parts) part.keep();
    }

   private:
    void rows_of(Block& block, const Lines& lines, std::vector<Place>& places) const {
        const std::size_t width = places.size();
        const std::uint8_t* p = lines.begin;
        for (index_t row = block.first_row; p < lines.end; ++row) {
            const std::uint8_t* line = p;
            std::size_t empty = 0;
            for (std::size_t j = 0; j + 1 < width; ++j) {
                const std::uint8_t* begin = p;
                p = cell(places[j], p, row);
                empty += p == begin;
                if (*p++ != separator_) {
                    block.plain = false;
                    return;
                }
            }
            const std::uint8_t* begin = p;
            p = cell(places[width - 1], p, row);
            empty += p == begin;
            p += *p == '\r';
            // A row without any cell is left out of a table, so its places would be wrong.
            if (*p++ != '\n' || empty == width || p - line > longest_) {
                block.plain = false;
                return;
            }
        }
    }

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
        const index_t size = end - p;
        std::vector<std::uint8_t>& bytes = place.part->bytes;
        TextView view{};
        view.size = static_cast<std::int32_t>(size);
        if (size == 0) place.part->missing.push_back(row);
        if (size <= static_cast<index_t>(sizeof view.start)) {
            std::memcpy(view.start, p, static_cast<std::size_t>(size));
        } else if (size >= longest_text || bytes.size() > most_bytes) {
            fail(place);
            return end;
        } else {
            const std::int32_t at[2] = {place.block, static_cast<std::int32_t>(bytes.size())};
            std::memcpy(view.start, p, 4);
            std::memcpy(view.start + 4, at, sizeof at);
            bytes.insert(bytes.end(), p, end);
        }
        static_cast<TextView*>(place.cells)[row] = view;
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

void gather(PlainColumn& column, std::size_t j, std::vector<Block>& blocks, index_t rows) {
    for (const Block& block : blocks) {
        column.failed = column.failed || block.parts[j].failed;
        column.missing += static_cast<index_t>(block.parts[j].missing.size());
    }
    if (column.failed || column.kind == CellKind::skip) {
        column.cells.reset();
        return;
    }
    if (column.missing > 0) {
        column.valid.assign(static_cast<std::size_t>((rows + 7) / 8), 0xff);
        for (const Block& block : blocks)
            for (const index_t row : block.parts[j].missing)
                column.valid[static_cast<std::size_t>(row / 8)] &= static_cast<std::uint8_t>(~(1u << (row % 8)));
    }
    if (column.kind == CellKind::label) {
        std::unordered_map<std::string_view, std::uint32_t> known;
        auto* codes = static_cast<std::uint32_t*>(column.cells.get());
        for (const Block& block : blocks) {
            const auto& own = block.parts[j].labels.labels;
            std::vector<std::uint32_t> to(std::max<std::size_t>(own.size(), 1), 0);
            bool moved = false;
            for (std::size_t k = 0; k < own.size(); ++k) {
                const auto [at, fresh] = known.try_emplace(own[k], static_cast<std::uint32_t>(column.labels.size()));
                if (fresh) column.labels.emplace_back(own[k]);
                to[k] = at->second;
                moved = moved || to[k] != k;
            }
            if (!moved) continue;
            for (index_t row = block.first_row; row < block.first_row + block.rows; ++row) codes[row] = to[codes[row]];
        }
    } else if (column.kind == CellKind::text) {
        for (Block& block : blocks) column.bytes.push_back(std::move(block.parts[j].kept));
    }
}

}  // namespace

TextScan scan_text(Vector<const std::uint8_t> text, int threads) {
    std::vector<TextScan> parts(static_cast<std::size_t>(chunk_count(text.size, scan_bytes)));
    parallel_chunks(text.size, scan_bytes, threads, [&](index_t c, index_t begin, index_t end) {
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

PlainTable read_plain(const TextSource& source, index_t begin, index_t end, std::uint8_t separator,
                      const std::vector<CellKind>& kinds, index_t longest, index_t block_bytes, int threads) {
    PlainTable table;
    if (begin >= end) return table;
    if (source.memory != nullptr && source.memory[end - 1] != '\n') source.memory[end] = '\n';
    const index_t n_blocks = chunk_count(end - begin, block_bytes);
    std::vector<Block> blocks(static_cast<std::size_t>(n_blocks));
    Buffers buffers;
    std::atomic<bool> plain{true};
    // A line begins after each line end but the last: block [from, to) has those of [from - 1, to - 1).
    parallel_chunks(n_blocks, 1, threads, [&](index_t b, index_t, index_t) {
        Block& block = blocks[static_cast<std::size_t>(b)];
        block.number = b;
        block.from = begin + b * block_bytes;
        block.to = std::min(block.from + block_bytes, end);
        if (!plain) return;
        const index_t start = block.from - (b > 0);
        Buffer buffer = buffers.take();
        const std::uint8_t* text = bytes_of(source, start, block.to, buffer);
        TextScan found;
        if (text != nullptr) {
            scan_part(text, block.to - start, found);
            block.rows = found.lines - (text[block.to - start - 1] == '\n') + (b == 0);
        }
        buffers.give(std::move(buffer));
        if (text == nullptr || !is_plain(found)) plain = false;
    });
    if (!plain) return table;
    for (Block& block : blocks) {
        block.first_row = table.rows;
        table.rows += block.rows;
    }
    table.columns.resize(kinds.size());
    for (std::size_t j = 0; j < kinds.size(); ++j) {
        PlainColumn& column = table.columns[j];
        column.kind = kinds[j];
        if (column.kind == CellKind::skip) continue;
        const std::size_t each = column.kind == CellKind::label ? 4 : column.kind == CellKind::text ? sizeof(TextView) : 8;
        column.cells = large(each * static_cast<std::size_t>(table.rows));
    }
    const Reader reader(separator, table, longest);
    // Threads go through stretches far from each other: two that first touch one large page would both clear it.
    const index_t stretch = chunk_count(n_blocks, std::max(threads, 1));
    parallel_chunks(stretch * std::max(threads, 1), 1, threads, [&](index_t c, index_t, index_t) {
        const index_t at = c % std::max(threads, 1) * stretch + c / std::max(threads, 1);
        if (at >= n_blocks || !plain) return;
        Block& block = blocks[static_cast<std::size_t>(at)];
        Buffer buffer = buffers.take();
        Lines lines;
        block.plain = lines_of(source, begin, end, block.from, block.to, longest, buffer, lines);
        if (block.plain) reader.read(block, lines);
        buffers.give(std::move(buffer));
        if (!block.plain) plain = false;
    });
    table.plain = plain;
    if (!table.plain) {
        table.columns.clear();
        return table;
    }
    parallel_chunks(static_cast<index_t>(kinds.size()), 1, threads, [&](index_t j, index_t, index_t) {
        gather(table.columns[static_cast<std::size_t>(j)], static_cast<std::size_t>(j), blocks, table.rows);
    });
    return table;
}

}  // namespace assay::tables
