// Delimited text without quotes, read into columns at one look at each byte.
//
// scan_text   what a text holds that plain reading must know of: lines, zero bytes, bytes beyond ASCII, quotes, and
//             carriage returns that end no line. IN text (n bytes).
// read_plain  the cells of a text whose every line holds `width` fields, lines end in LF or CR LF. A column is
//             number  doubles below 2^53 in size, correctly rounded: mantissa / 10^k is exact for both at most 2^53
//                     and 10^22 (Clinger 1990), other spellings go through std::from_chars;
//             whole   integers of at most 18 digits without leading zeros or plus signs;
//             label   a code for each cell, and the labels in order of first appearance;
//             text    the cells as bytes, with offsets;
//             skip    not looked at.
//             An empty cell is missing. A cell that is not what its column should hold, and more than `most_labels`
//             labels in a chunk, make the column fail; the others are not touched by it. A line that is blank, ragged, or
//             longer than `longest` makes the whole reading fail: the caller has slower ways that say what is wrong.
//             IN text (n bytes, then `padding` writable bytes), separator, kinds (width). OUT columns; rows.
//
// The text is cut into chunks of fixed size at line ends; threads read chunks straight into their rows of the columns,
// and labels of chunks are merged in order: the result is the same for any number of threads.
// Cost: O(bytes); 8 bytes for each number, 4 for each label, its length and 8 for each text.
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

struct PlainColumn {
    CellKind kind = CellKind::skip;
    bool failed = false;
    std::shared_ptr<void> cells;            // double, int64 or uint32 (label), one for each row; int64 offsets (text)
    std::shared_ptr<std::uint8_t> bytes;    // of text
    std::vector<std::uint8_t> valid;        // one bit for each row, empty if no cell is missing
    index_t missing = 0;
    std::vector<std::string> labels;
};

struct PlainTable {
    bool plain = false;  // false: the text needs another reader
    index_t rows = 0;
    std::vector<PlainColumn> columns;
};

PlainTable read_plain(std::uint8_t* text, index_t size, std::uint8_t separator, const std::vector<CellKind>& kinds,
                      index_t longest, int threads);

}  // namespace assay::tables
