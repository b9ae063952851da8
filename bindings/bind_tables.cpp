#include <memory>

#include "assay/tables/column_facts.hpp"
#include "assay/tables/plain_text.hpp"
#include "assay/tables/survey.hpp"
#include "coded_columns.hpp"

namespace assay::bindings {
namespace {

// The C data interface of Arrow: a column handed over without a copy to whoever speaks it.
struct ArrowSchema {
    const char *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema*);
    void* private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    const void** buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray*);
    void* private_data;
};

template <class T>
nb::capsule capsule(T* held, const char* name) {
    return nb::capsule(held, name, [](void* p) noexcept {
        T* still = static_cast<T*>(p);
        if (still->release != nullptr) still->release(still);
        delete still;
    });
}

// A column that was read, and what it takes to hand it over.
struct PlainCells {
    std::shared_ptr<tables::PlainColumn> column;
    index_t rows = 0;

    nb::tuple arrow(nb::object) const {
        using tables::CellKind;
        const CellKind kind = column->kind;
        const char* format = kind == CellKind::number  ? "g"
                             : kind == CellKind::whole ? "l"
                             : kind == CellKind::label ? "I"
                                                       : "vu";
        auto* schema = new ArrowSchema{format, "", nullptr, 2, 0, nullptr, nullptr,
                                       [](ArrowSchema* s) { s->release = nullptr; }, nullptr};
        struct Held {
            std::shared_ptr<tables::PlainColumn> column;
            std::vector<const void*> buffers;
            std::vector<std::int64_t> sizes;
        };
        const void* valid = column->valid.empty() ? nullptr : column->valid.data();
        auto* held = new Held{column, {valid, column->cells.get()}, {}};
        if (kind == CellKind::text) {
            for (const auto& bytes : column->bytes) {
                held->buffers.push_back(bytes.bytes.get());
                held->sizes.push_back(bytes.size);
            }
            held->buffers.push_back(held->sizes.data());
        }
        auto* array = new ArrowArray{rows, column->missing, 0, static_cast<std::int64_t>(held->buffers.size()), 0,
                                     held->buffers.data(), nullptr, nullptr,
                                     [](ArrowArray* a) {
                                         delete static_cast<Held*>(a->private_data);
                                         a->release = nullptr;
                                     },
                                     held};
        return nb::make_tuple(capsule(schema, "arrow_schema"), capsule(array, "arrow_array"));
    }
};

// The columns of a plain text as Python has them.
nb::object plain_columns(const tables::TextSource& source, index_t begin, index_t end, int separator,
                         const std::vector<int>& kinds, index_t longest, index_t block_bytes, int threads,
                         const char* who) {
    std::vector<tables::CellKind> wanted;
    for (const int kind : kinds) {
        require(kind >= 0 && kind <= 4, who, "kinds must lie in 0 .. 4");
        wanted.push_back(static_cast<tables::CellKind>(kind));
    }
    auto table = without_gil([&] {
        return tables::read_plain(source, begin, end, static_cast<std::uint8_t>(separator), wanted, longest, block_bytes,
                                  threads);
    });
    if (!table.plain) return nb::none();
    nb::list columns;
    for (auto& column : table.columns) {
        if (column.failed || column.kind == tables::CellKind::skip) {
            columns.append(nb::none());
            continue;
        }
        auto labels = std::move(column.labels);
        const PlainCells cells{std::make_shared<tables::PlainColumn>(std::move(column)), table.rows};
        columns.append(nb::make_tuple(cells, labels));
    }
    return columns;
}

// Sorted columns on their way to NumPy; not filled with zeros first.
struct Entries {
    std::size_t columns, rows;
    std::unique_ptr<tables::Entry[]> held = std::make_unique_for_overwrite<tables::Entry[]>(columns * rows);
    Result2<tables::Entry> to_array() {
        nb::capsule owner(held.get(), [](void* p) noexcept { delete[] static_cast<tables::Entry*>(p); });
        return Result2<tables::Entry>(held.release(), {columns, rows}, owner);
    }
};

}  // namespace

void bind_tables(nb::module_& m) {
    m.def(
        "sort_columns",
        [](Cells cells, ColumnCounts n_categories, int threads) {
            const auto columns = coded_columns(cells, n_categories, "sort_columns");
            require(columns.cells.rows <= tables::most_rows, "sort_columns", "there may be at most 2^30 rows");
            Entries order{cells.shape(1), cells.shape(0)};
            without_gil([&] { tables::sort_columns(columns.cells, view(n_categories), order.held.get(), threads); });
            return order.to_array();
        },
        "cells"_a.noconvert(), "n_categories"_a, "threads"_a,
        "Each column as the order of its rows by value; the highest bit marks a new value, the next one a missing cell.");
    m.def(
        "choose_rows",
        [](Array2<const tables::Entry> order, Array1<const std::int32_t> rows, int threads) {
            Entries chosen{order.shape(0), rows.shape(0)};
            without_gil([&] {
                tables::choose_rows(order.data(), static_cast<index_t>(order.shape(1)), static_cast<index_t>(order.shape(0)),
                                    view(rows), chosen.held.get(), threads);
            });
            return chosen.to_array();
        },
        "order"_a.noconvert(), "rows"_a, "threads"_a, "The sorted columns of these rows, numbered by their places.");
    m.def(
        "rank_codes",
        [](Cells cells, Array2<const tables::Entry> order, ColumnCounts n_categories, Array1<const std::int64_t> rows,
           int threads) {
            const auto columns = coded_columns(cells, n_categories, "rank_codes");
            require(order.shape(0) == cells.shape(1) && order.shape(1) == cells.shape(0), "rank_codes",
                    "one entry per column and row");
            auto codes = without_gil([&] { return tables::rank_codes(columns, order.data(), view(rows), threads); });
            return nb::make_tuple(own(std::move(codes.bytes)), own(std::move(codes.first)), own(std::move(codes.width)),
                                  own(std::move(codes.offsets)), own(std::move(codes.values)));
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "n_categories"_a, "rows"_a, "threads"_a,
        "Codes of these rows in 1, 2 or 4 bytes (bytes, starts, widths), and offsets and distinct values by column.");
    m.def(
        "bin_codes",
        [](Array1<const double> values, Array1<const double> edges) {
            require(edges.shape(0) < tables::no_code, "bin_codes", "there may be at most 254 edges");
            std::vector<std::uint8_t> codes(values.shape(0));
            Vector<std::uint8_t> out{codes.data(), static_cast<index_t>(codes.size()), 1};
            without_gil([&] { tables::bin_codes(view(values), view(edges), out); });
            return own(std::move(codes));
        },
        "values"_a.noconvert(), "edges"_a, "How many of the ascending edges are at most each value; 255 for NaN.");
    m.def(
        "cross_counts",
        [](Array1<const std::uint8_t> first, Array1<const std::uint8_t> second, int n_first, int n_second) {
            require(first.shape(0) == second.shape(0), "cross_counts", "both columns must have the same length");
            require(n_first >= 0 && n_second >= 0 && n_first <= 256 && n_second <= 256, "cross_counts",
                    "the numbers of codes must lie in 0 .. 256");
            auto counts = without_gil([&] { return tables::cross_counts(view(first), view(second), n_first, n_second); });
            return own(std::move(counts), static_cast<std::size_t>(n_first), static_cast<std::size_t>(n_second));
        },
        "first"_a.noconvert(), "second"_a.noconvert(), "n_first"_a, "n_second"_a,
        "Rows with each pair of codes; rows with a code beyond the numbers given are left out.");
    m.def(
        "code_counts",
        [](Array1<const std::uint8_t> codes) {
            return own(without_gil([&] { return tables::code_counts(view(codes)); }));
        },
        "codes"_a.noconvert(), "Rows with each of the codes 0 .. 255.");
    m.def(
        "group_sums",
        [](Array1<const std::uint8_t> codes, Array1<const double> values) {
            require(codes.shape(0) == values.shape(0), "group_sums", "both columns must have the same length");
            auto found = without_gil([&] { return tables::group_sums(view(codes), view(values)); });
            return nb::make_tuple(own(std::move(found.sums)), own(std::move(found.counts)));
        },
        "codes"_a.noconvert(), "values"_a.noconvert(),
        "Sums of the values of each of the codes 0 .. 255, and how many there are; NaN is left out.");
    m.def(
        "moments",
        [](Array1<const double> values) {
            const auto found = without_gil([&] { return tables::moments(view(values)); });
            return nb::make_tuple(found.mean, found.squares, found.cubes);
        },
        "values"_a.noconvert(), "Mean, and sums of squares and cubes around it, of values without NaN.");
    m.def(
        "mid_ranks",
        [](Array1<const double> values) {
            std::vector<double> ranks(values.shape(0));
            Vector<double> out{ranks.data(), static_cast<index_t>(ranks.size()), 1};
            without_gil([&] { tables::mid_ranks(view(values), out); });
            return own(std::move(ranks));
        },
        "values"_a.noconvert(), "Ranks from 1 on, ties share their mean; NaN where the value is.");
    m.def(
        "twice_ranks",
        [](Array1<const double> values) {
            require(values.shape(0) <= static_cast<std::size_t>(tables::most_rows), "twice_ranks",
                    "there may be at most 2^30 rows");
            std::vector<std::uint32_t> ranks(values.shape(0));
            Vector<std::uint32_t> out{ranks.data(), static_cast<index_t>(ranks.size()), 1};
            without_gil([&] { tables::twice_ranks(view(values), out); });
            return own(std::move(ranks));
        },
        "values"_a.noconvert(), "Twice the ranks of mid_ranks, which are whole numbers; 0 where the value is NaN.");
    m.def(
        "sort_numbers",
        [](Array1<const double> values) {
            std::vector<double> sorted(values.shape(0));
            const index_t count = without_gil([&] { return tables::sort_numbers(view(values), sorted.data()); });
            sorted.resize(static_cast<std::size_t>(count));
            return own(std::move(sorted));
        },
        "values"_a.noconvert(), "The values but NaN, in ascending order.");
    nb::class_<PlainCells>(m, "PlainCells", "A column of a text, handed over by the Arrow C data interface.")
        .def("__arrow_c_array__", &PlainCells::arrow, "requested_schema"_a = nb::none());
    m.def(
        "scan_text",
        [](Array1<const std::uint8_t> text, int threads) {
            const auto found = without_gil([&] { return tables::scan_text(view(text), threads); });
            nb::dict facts;
            facts["lines"] = found.lines;
            facts["zero"] = found.zero;
            facts["beyond_ascii"] = found.beyond_ascii;
            facts["quote"] = found.quote;
            facts["stray_return"] = found.returns != found.line_ends_with_return;
            return facts;
        },
        "text"_a.noconvert(), "threads"_a,
        "Lines of a text and whether it holds zero bytes, bytes beyond ASCII, quotes, or returns that end no line.");
    m.def(
        "read_plain",
        [](Array1<std::uint8_t> text, std::size_t begin, std::size_t end, int separator, std::vector<int> kinds,
           std::int64_t longest, int threads) {
            require(begin <= end && end + tables::padding <= text.shape(0), "read_plain",
                    "the text must be followed by 64 bytes");
            return plain_columns({text.data(), -1}, static_cast<index_t>(begin), static_cast<index_t>(end), separator, kinds,
                                 longest, index_t{1} << 22, threads, "read_plain");
        },
        "text"_a.noconvert(), "begin"_a, "end"_a, "separator"_a, "kinds"_a, "longest"_a, "threads"_a,
        "The columns of a plain delimited text: (cells, labels) each, None for one that failed or was not wanted. "
        "None if the text is not plain.");
    m.def(
        "read_plain_file",
        [](int file, std::int64_t begin, std::int64_t end, int separator, std::vector<int> kinds, std::int64_t longest,
           std::int64_t block_bytes, int threads) {
            require(file >= 0 && 0 <= begin && begin <= end && block_bytes > 0, "read_plain_file",
                    "the range must lie in the file");
            return plain_columns({nullptr, file}, begin, end, separator, kinds, longest, block_bytes, threads,
                                 "read_plain_file");
        },
        "file"_a, "begin"_a, "end"_a, "separator"_a, "kinds"_a, "longest"_a, "block_bytes"_a, "threads"_a,
        "As read_plain, of bytes begin .. end of an open file, which is read block by block and never held whole.");
    m.def(
        "column_facts",
        [](Array2<const double> cells) {
            auto facts = without_gil([&] { return tables::column_facts(view(cells)); });
            return nb::make_tuple(own(std::move(facts.low)), own(std::move(facts.high)), own(std::move(facts.missing)),
                                  own(std::move(facts.infinite)), own(std::move(facts.first_odd)),
                                  own(std::move(facts.zero_one)));
        },
        "cells"_a.noconvert(),
        "(smallest, largest, missing cells, infinite cells, first row with one or -1, all 0, 1 or missing) by column.");
    m.def(
        "standard_rows",
        [](std::vector<Array1<const double>> columns, std::int64_t begin, std::int64_t end, Array1<const double> centre,
           Array1<const double> spread, bool complete) {
            const std::size_t p = columns.size();
            require(centre.shape(0) == p && spread.shape(0) == p, "standard_rows", "one centre and spread per column");
            std::vector<const double*> cells;
            for (const auto& column : columns) {
                require(0 <= begin && begin <= end && static_cast<std::size_t>(end) <= column.shape(0), "standard_rows",
                        "the rows must lie in the columns");
                cells.push_back(column.data());
            }
            std::vector<double> z(static_cast<std::size_t>(end - begin) * p);
            const index_t rows = without_gil([&] {
                return tables::standard_rows(cells, begin, end, centre.data(), spread.data(), complete, z.data());
            });
            z.resize(static_cast<std::size_t>(rows) * p);
            return own(std::move(z), static_cast<std::size_t>(rows), p);
        },
        "columns"_a, "begin"_a, "end"_a, "centre"_a.noconvert(), "spread"_a.noconvert(), "complete"_a,
        "Rows of (x - centre) / spread from columns; a missing cell is 0, or its row is left out where `complete`.");
    m.def(
        "even_widths",
        [](Array1<const std::uint8_t> text, int separator, std::int64_t width) {
            return without_gil(
                [&] { return tables::even_widths(view(text), static_cast<std::uint8_t>(separator), width); });
        },
        "text"_a.noconvert(), "separator"_a, "width"_a,
        "Whether every line of a text without quotes that is not blank holds width - 1 separators.");
}

}  // namespace assay::bindings
