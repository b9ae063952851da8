#include "assay/tables/coded_columns.hpp"
#include "assay/tables/column_facts.hpp"
#include "assay/tables/plain_text.hpp"
#include "assay/tables/survey.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

std::vector<tables::Entry> order_of(const std::vector<double>& cells, index_t rows, index_t cols,
                                    const std::vector<std::int32_t>& n_categories, int threads = 1) {
    std::vector<tables::Entry> order(cells.size());
    tables::sort_columns(c_matrix(cells.data(), rows, cols), {n_categories.data(), cols, 1}, order.data(), threads);
    return order;
}

struct Codes {
    std::vector<std::uint32_t> codes;
    std::vector<std::int64_t> offsets;
    std::vector<double> values;
    std::vector<std::uint8_t> width;
};

Codes codes_of(const std::vector<double>& cells, index_t rows, index_t cols, const std::vector<std::int32_t>& n_categories,
               int threads = 1) {
    const auto order = order_of(cells, rows, cols, n_categories, threads);
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    const auto found = tables::rank_codes({c_matrix(cells.data(), rows, cols), n_categories.data()}, order.data(),
                                          {all.data(), rows, 1}, threads);
    Codes codes{{}, found.offsets, found.values, found.width};
    for (index_t j = 0; j < cols; ++j)
        found.view().with_column(j, [&](const auto* column) { codes.codes.insert(codes.codes.end(), column, column + rows); });
    return codes;
}

}  // namespace

TEST("rank codes are dense ranks, zero is one value, and missing comes last") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto r = codes_of({2.5, -0.0, nan, 0.0, -7, 2.5}, 6, 1, {0});
    CHECK((r.codes == std::vector<std::uint32_t>{2, 1, 3, 1, 0, 2}));
    CHECK((r.values == std::vector<double>{-7, 0, 2.5}));
    CHECK((r.offsets == std::vector<std::int64_t>{0, 3}));
}

TEST("nominal columns keep their codes; unknown and missing cells become the missing code") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto r = codes_of({1, 5, -1, 5, nan, 6, 0, 7}, 4, 2, {2, 0});
    CHECK((r.codes == std::vector<std::uint32_t>{1, 2, 2, 0, 0, 0, 1, 2}));
    CHECK((r.offsets == std::vector<std::int64_t>{0, 2, 5}));
}

TEST("codes point back at the cells, for many rows, odd values and any number of threads") {
    const index_t n = 3001, d = 7;
    Random random(5);
    std::vector<double> cells(static_cast<std::size_t>(n * d));
    for (auto& cell : cells) {
        const auto kind = random.below(4);
        cell = kind == 0   ? std::ldexp(random.normal(), static_cast<int>(random.below(2000)) - 1000)
               : kind == 1 ? std::round(random.normal() * 3)
               : kind == 2 ? random.normal()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    const std::vector<std::int32_t> numeric(static_cast<std::size_t>(d), 0);
    const auto one = codes_of(cells, n, d, numeric, 1), two = codes_of(cells, n, d, numeric, 2);
    CHECK(one.codes == two.codes && one.values == two.values);
    for (index_t j = 0; j < d; ++j) {
        const std::int64_t first = one.offsets[static_cast<std::size_t>(j)], last = one.offsets[static_cast<std::size_t>(j) + 1];
        for (std::int64_t v = first + 1; v < last; ++v)
            CHECK(one.values[static_cast<std::size_t>(v - 1)] < one.values[static_cast<std::size_t>(v)]);
        for (index_t i = 0; i < n; ++i) {
            const double cell = cells[static_cast<std::size_t>(i * d + j)];
            const std::int64_t code = one.codes[static_cast<std::size_t>(j * n + i)];
            if (std::isnan(cell)) {
                CHECK(code == last - first);
            } else {
                CHECK(one.values[static_cast<std::size_t>(first + code)] == cell);
            }
        }
    }
}

TEST("codes take one byte up to 255 values, two up to 65,535, else four") {
    const index_t n = 70000;
    std::vector<double> cells;
    for (index_t i = 0; i < n; ++i)
        cells.insert(cells.end(), {static_cast<double>(i % 255), static_cast<double>(i % 256), static_cast<double>(i % 65536)});
    const auto r = codes_of(cells, n, 3, {0, 0, 0});
    CHECK((r.width == std::vector<std::uint8_t>{1, 2, 4}));
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        for (std::size_t j = 0; j < 3; ++j) CHECK(r.codes[j * static_cast<std::size_t>(n) + i] == cells[i * 3 + j]);
}

TEST("chosen rows have the entries that sorting them alone gives, whether they rise, fall or repeat") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const index_t n = 500, d = 3;
    Random random(8);
    std::vector<double> cells;
    for (index_t i = 0; i < n * d; ++i)
        cells.push_back(random.below(10) == 0 ? nan : i % d == 2 ? static_cast<double>(random.below(4)) : std::round(random.normal() * 9));
    const std::vector<std::int32_t> counts{0, 0, 4};
    const auto order = order_of(cells, n, d, counts);
    for (const bool rising : {true, false}) {
        std::vector<std::int32_t> rows;
        for (std::int32_t i = 0; i < n; ++i)
            if (random.below(3) > 0) rows.push_back(rising ? i : static_cast<std::int32_t>(random.below(500)));
        const auto m = static_cast<index_t>(rows.size());
        std::vector<double> part;
        for (const std::int32_t row : rows)
            part.insert(part.end(), cells.begin() + row * d, cells.begin() + (row + 1) * d);
        const auto alone = order_of(part, m, d, counts);
        std::vector<tables::Entry> chosen(part.size());
        tables::choose_rows(order.data(), n, d, {rows.data(), m, 1}, chosen.data(), 2);
        for (index_t j = 0; j < d; ++j) {
            for (index_t i = 0; i < m; ++i) {
                const auto a = alone[static_cast<std::size_t>(j * m + i)], b = chosen[static_cast<std::size_t>(j * m + i)];
                if (rising) CHECK(tables::row_of(a) == tables::row_of(b));
                CHECK(tables::is_missing(a) == tables::is_missing(b) && (i == 0 || tables::is_fresh(a) == tables::is_fresh(b)));
                const double x = part[static_cast<std::size_t>(tables::row_of(a) * d + j)];
                const double y = part[static_cast<std::size_t>(tables::row_of(b) * d + j)];
                CHECK(x == y || (std::isnan(x) && std::isnan(y)));
            }
        }
    }
}

TEST("bin codes count the edges that are at most a value") {
    std::vector<double> values;
    for (int i = 0; i < 71; ++i) values.push_back(i % 10);
    values[3] = values[70] = std::nan("");
    const std::vector<double> edges{0.5, 2, 2.5, 9};
    std::vector<std::uint8_t> codes(values.size());
    tables::bin_codes({values.data(), 71}, {edges.data(), 4}, {codes.data(), 71});
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = values[i];
        const int expected = (x >= 0.5) + (x >= 2) + (x >= 2.5) + (x >= 9);
        CHECK(codes[i] == (std::isnan(x) ? tables::no_code : expected));
    }
}

TEST("cross counts leave out codes beyond the numbers given") {
    const std::vector<std::uint8_t> first{0, 1, 1, 255, 2, 0}, second{1, 0, 0, 0, 1, 255};
    const auto counts = tables::cross_counts({first.data(), 6}, {second.data(), 6}, 2, 2);
    CHECK((counts == std::vector<std::int64_t>{0, 1, 2, 0}));
}

TEST("even widths look at every line that is not blank") {
    const auto even = [](const std::string& text) {
        return tables::even_widths({reinterpret_cast<const std::uint8_t*>(text.data()), static_cast<index_t>(text.size())},
                                   ';', 3);
    };
    CHECK(even("a;b;c\r\n\r\n\n1;2;3"));
    CHECK(!even("a;b;c\n1;2\n"));
    CHECK(!even("a;b;c\n1;2;3;4"));
    CHECK(even(""));
}

TEST("moments are those around the mean, far from zero and for any block") {
    std::vector<double> values;
    for (int i = 0; i < 10001; ++i) values.push_back(1e9 + i % 5);
    const auto found = tables::moments({values.data(), static_cast<index_t>(values.size()), 1});
    double mean = 0, squares = 0, cubes = 0;
    for (const double v : values) mean += v - 1e9;
    mean /= static_cast<double>(values.size());
    for (const double v : values) {
        const double d = v - 1e9 - mean;
        squares += d * d;
        cubes += d * d * d;
    }
    CHECK(std::abs(found.mean - 1e9 - mean) < 1e-6);
    CHECK(std::abs(found.squares - squares) < 1e-6 * squares);
    CHECK(std::abs(found.cubes - cubes) < 1e-3);
}

TEST("group sums leave missing values out, and counts of codes add up") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::uint8_t> codes{0, 1, 0, 255, 1, 1};
    const std::vector<double> values{1, 2, nan, 8, 3, 4};
    const auto found = tables::group_sums({codes.data(), 6, 1}, {values.data(), 6, 1});
    CHECK(found.sums[0] == 1 && found.sums[1] == 9 && found.sums[255] == 8);
    CHECK(found.counts[0] == 1 && found.counts[1] == 3 && found.counts[2] == 0);
    const auto counts = tables::code_counts({codes.data(), 6, 1});
    CHECK(counts[0] == 2 && counts[1] == 3 && counts[255] == 1);
}

TEST("mid-ranks share ties and keep missing values") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values{5, nan, 1, 5, 9};
    std::vector<double> ranks(5);
    tables::mid_ranks({values.data(), 5, 1}, {ranks.data(), 5, 1});
    CHECK(ranks[0] == 2.5 && std::isnan(ranks[1]) && ranks[2] == 1 && ranks[3] == 2.5 && ranks[4] == 4);
}

TEST("standard rows are z-scores; a missing cell is 0 or takes its row away") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> a(600), b(600);
    for (std::size_t i = 0; i < 600; ++i) {
        a[i] = static_cast<double>(i);
        b[i] = i % 3 == 1 ? nan : 2.0 * static_cast<double>(i);
    }
    const double centre[] = {1, 2}, spread[] = {2, 4};
    std::vector<double> z(1200);
    CHECK(tables::standard_rows({a.data(), b.data()}, 10, 590, centre, spread, false, z.data()) == 580);
    CHECK(z[0] == 4.5 && z[1] == 0 && z[2] == 5 && z[3] == 5);
    CHECK(tables::standard_rows({a.data(), b.data()}, 10, 590, centre, spread, true, z.data()) == 386);
    CHECK(z[0] == 5 && z[1] == 5 && z[2] == 5.5 && z[3] == 5.5);
}

TEST("numbers sort as by comparison, and ranks come doubled too") {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    std::vector<double> values{3.5, nan, -1e300, infinite, 3.5, -infinite, 0.0, 5e-324, nan, 1e15, 1e15 + 1, 1e15 - 1, 1e15 + 1};
    for (int k = 0; k < 500; ++k) values.push_back(1e6 + (k * 7919 % 500) * 1e-9);
    std::vector<double> expected, sorted(values.size());
    for (const double value : values)
        if (value == value) expected.push_back(value);
    std::sort(expected.begin(), expected.end());
    const Vector<const double> in{values.data(), static_cast<index_t>(values.size()), 1};
    sorted.resize(static_cast<std::size_t>(tables::sort_numbers(in, sorted.data())));
    CHECK(sorted == expected);
    CHECK(tables::sort_numbers({values.data(), 0, 1}, sorted.data()) == 0);
    std::vector<double> ranks(values.size());
    std::vector<std::uint32_t> twice(values.size());
    tables::mid_ranks(in, {ranks.data(), in.size, 1});
    tables::twice_ranks(in, {twice.data(), in.size, 1});
    for (std::size_t i = 0; i < ranks.size(); ++i)
        CHECK(ranks[i] == ranks[i] ? 2 * ranks[i] == twice[i] : twice[i] == 0 && values[i] != values[i]);
}

TEST("a scan of text tells what plain reading must know") {
    const auto scan = [](const std::string& text) {
        return tables::scan_text({reinterpret_cast<const std::uint8_t*>(text.data()), static_cast<index_t>(text.size()), 1}, 1);
    };
    const auto fine = scan("a,b\r\n1,2\r\n");
    CHECK(fine.lines == 2 && fine.returns == 2 && fine.line_ends_with_return == 2);
    CHECK(!fine.zero && !fine.quote && !fine.beyond_ascii);
    CHECK(scan("a\rb\n").line_ends_with_return == 0);
    CHECK(scan(std::string("a\0b", 3)).zero && scan("\"").quote && scan("\xc3\xa9").beyond_ascii);
}

TEST("plain text becomes columns; a cell that does not fit fails its column alone") {
    using tables::CellKind;
    const auto read = [](std::string text, std::vector<CellKind> kinds) {
        const auto size = static_cast<index_t>(text.size());
        text.append(static_cast<std::size_t>(tables::padding), '\0');
        return tables::read_plain({reinterpret_cast<std::uint8_t*>(text.data()), -1}, 0, size, ',', kinds, 1000, 1 << 22, 1);
    };
    const auto table = read("1.5,7,x,abc\n-0.25,-3,y,\n,0,x,d", {CellKind::number, CellKind::whole, CellKind::label, CellKind::text});
    CHECK(table.plain && table.rows == 3);
    const auto* numbers = static_cast<const double*>(table.columns[0].cells.get());
    CHECK(numbers[0] == 1.5 && numbers[1] == -0.25 && table.columns[0].missing == 1 && table.columns[0].valid[0] == 0xfb);
    const auto* wholes = static_cast<const std::int64_t*>(table.columns[1].cells.get());
    CHECK(wholes[0] == 7 && wholes[1] == -3 && wholes[2] == 0);
    const auto* codes = static_cast<const std::uint32_t*>(table.columns[2].cells.get());
    CHECK(codes[0] == 0 && codes[1] == 1 && codes[2] == 0 && table.columns[2].labels.size() == 2);
    const auto* texts = static_cast<const tables::TextView*>(table.columns[3].cells.get());
    CHECK(texts[0].size == 3 && texts[0].start[2] == 'c' && texts[1].size == 0 && texts[2].start[0] == 'd');
    const auto odd = read("1.5,07\nx,2\n", {CellKind::number, CellKind::whole});
    CHECK(odd.plain && odd.columns[0].failed && odd.columns[1].failed);
    CHECK(!read("1,2\n1\n", {CellKind::number, CellKind::number}).plain);
    CHECK(!read("1,2\n1,2,3\n", {CellKind::number, CellKind::number}).plain);
    CHECK(!read("1,2\n\n3,4\n", {CellKind::number, CellKind::number}).plain);
    CHECK(!read("1,2\n,\n", {CellKind::number, CellKind::number}).plain);
}

TEST("facts of columns pass over missing cells and name the first odd row") {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    const std::vector<double> cells{1.0, nan, 0.0, nan, 3.0,        //
                                    0.0, nan, 1.0, 2.0, -infinite,  //
                                    1.0, nan, nan, 5.0, infinite};
    const auto facts = tables::column_facts(c_matrix(cells.data(), 3, 5));
    CHECK(facts.low[0] == 0.0 && facts.high[0] == 1.0 && facts.zero_one[0] == 1 && facts.first_odd[0] == -1);
    CHECK(std::isnan(facts.low[1]) && std::isnan(facts.high[1]) && facts.missing[1] == 3 && facts.zero_one[1] == 1);
    CHECK(facts.zero_one[2] == 1 && facts.missing[2] == 1 && facts.first_odd[2] == 2);
    CHECK(facts.low[3] == 2.0 && facts.high[3] == 5.0 && facts.zero_one[3] == 0 && facts.first_odd[3] == 0);
    CHECK(facts.low[4] == -infinite && facts.high[4] == infinite && facts.infinite[4] == 2 && facts.first_odd[4] == 1);
}
