#include "assay/tables/rank_codes.hpp"
#include "assay/tables/survey.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

tables::RankCodes codes_of(const std::vector<double>& cells, index_t rows, index_t cols,
                           const std::vector<std::int32_t>& n_categories, int threads = 1) {
    return tables::rank_codes(c_matrix(cells.data(), rows, cols), {n_categories.data(), cols, 1}, threads);
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
