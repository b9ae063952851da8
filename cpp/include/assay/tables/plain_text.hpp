// Delimited text without quotes, read into columns at one look at each byte.
//
// scan_text   what a text holds that plain reading must know of: lines, zero bytes, bytes beyond ASCII, quotes, and
//             carriage returns that end no line. IN text (n bytes).
// read_plain  the cells of a text whose every line holds `width` fields, lines end in LF or CR LF. A column is
//             number  doubles below 2^53 in size, correctly rounded: mantissa / 10^k is exact for both at most 2^53
//                     and 10^22 (Clinger 1990), other spellings go through std::from_chars;
//             whole   integers of at most 18 digits without leading zeros or plus signs;
//             label   a code for each cell, and the labels in order of first appearance;
//             text    the cells as Arrow's views of text: 12 bytes or fewer in the view, others in bytes of their block;
//             skip    not looked at.
//             An empty cell is missing. A cell that is not what its column should hold, and more than `most_labels`
//             labels in a block, make the column fail; the others are not touched by it. A line that is blank, ragged, or
//             longer than `longest` makes the whole reading fail: the caller has slower ways that say what is wrong; so
//             does a byte beyond ASCII, a zero, a quote, a return that ends no line, and a file that ends too early.
//             IN source (memory: then `padding` writable bytes follow `end`; or a file, which must have `end` bytes), the
//             range [begin, end) of it, separator, kinds (width), bytes of a block. OUT columns; rows.
//
// A block has the lines that begin in its bytes. Lines are counted first, and then threads read blocks straight into their
// rows of the columns; labels of blocks are merged in order: the result is the same for any number of threads. A file is
// read twice, in pieces of a block into buffers that are used again: its text is never in memory as a whole, and a file that
// changes meanwhile is refused or gives other cells, never cells out of their places.
// Cost: O(bytes); 8 bytes for each number, 4 for each label, 16 and its length if over 12 for each text; a block a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/common/views.hpp"

namespace assay::tables {

inline constexpr index_t padding = 64;

struct TextScan {
    index_t lines = 0, returns = 0, line_ends_with_return = 0;
    bool zero = false, beyond_ascii = false, quote = false;
};

TextScan scan_text(Vector<const std::uint8_t> text, int threads);

enum class CellKind : int { skip = 0, number = 1, whole = 2, label = 3, text = 4 };

// How Arrow views a text: its size, and all of it, or its first 4 bytes, the number of its buffer and its place there.
struct TextView {
    std::int32_t size;
    std::uint8_t start[12];
};

struct TextBytes {
    std::shared_ptr<std::uint8_t> bytes;
    index_t size = 0;
};

struct PlainColumn {
    CellKind kind = CellKind::skip;
    bool failed = false;
    std::shared_ptr<void> cells;      // double, int64, uint32 (label) or TextView, one for each row
    std::vector<TextBytes> bytes;     // of long texts, one for each block
    std::vector<std::uint8_t> valid;  // one bit for each row, empty if no cell is missing
    index_t missing = 0;
    std::vector<std::string> labels;
};

struct PlainTable {
    bool plain = false;  // false: the text needs another reader
    index_t rows = 0;
    std::vector<PlainColumn> columns;
};

struct TextSource {
    std::uint8_t* memory = nullptr;
    int file = -1;  // a descriptor, where there is no memory
};

PlainTable read_plain(const TextSource& source, index_t begin, index_t end, std::uint8_t separator,
                      const std::vector<CellKind>& kinds, index_t longest, index_t block_bytes, int threads);

}  // namespace assay::tables
