#include "assay/rules/rules.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "../src/rules/search.hpp"
#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// Columns of codes where code c stands for the value c.
struct Data {
    index_t n = 0, d = 0;
    std::vector<std::uint32_t> codes;
    std::vector<std::int64_t> offsets{0}, first;
    std::vector<std::uint8_t> width;
    std::vector<double> values;
    std::vector<std::int32_t> n_categories, labels, order{1, 0};

    void add(const std::vector<std::uint32_t>& column, std::uint32_t distinct, bool nominal) {
        n = static_cast<index_t>(column.size());
        ++d;
        first.push_back(static_cast<std::int64_t>(4 * codes.size()));
        width.push_back(4);
        codes.insert(codes.end(), column.begin(), column.end());
        for (std::uint32_t c = 0; c < distinct; ++c) values.push_back(c);
        offsets.push_back(static_cast<std::int64_t>(values.size()));
        n_categories.push_back(nominal ? static_cast<std::int32_t>(distinct) : 0);
    }
    rules::Columns columns() const {
        return {{n, d, reinterpret_cast<const std::uint8_t*>(codes.data()), first.data(), width.data(), offsets.data(),
                 values.data()},
                n_categories.data()};
    }
    rules::CanonicalRows canonical() const {
        std::vector<double> cells(codes.size());
        for (index_t i = 0; i < n; ++i)
            for (index_t j = 0; j < d; ++j) {
                const std::uint32_t code = codes[static_cast<std::size_t>(j * n + i)];
                const bool absent = code == columns().codes.missing(j);
                cells[static_cast<std::size_t>(i * d + j)] = absent ? std::nan("") : static_cast<double>(code);
            }
        const tables::CodedColumns coded{c_matrix<const double>(cells.data(), n, d), n_categories.data()};
        std::vector<tables::Entry> entries(cells.size());
        tables::sort_columns(coded.cells, {n_categories.data(), d, 1}, entries.data(), 1);
        return rules::canonical_rows(coded, entries.data(), labels.data());
    }
    rules::Target target(const double* weights = nullptr) const { return {labels.data(), 2, weights, order.data()}; }
};

Data coded_data(index_t n, std::uint32_t distinct, std::uint64_t key) {
    Data data;
    Random random(key);
    for (int j = 0; j < 4; ++j) {
        std::vector<std::uint32_t> column(static_cast<std::size_t>(n));
        for (auto& cell : column) cell = random.below(distinct + (j == 3 ? 1 : 0));
        data.add(column, distinct, j == 2);
    }
    for (index_t i = 0; i < n; ++i) {
        const bool hit = data.codes[static_cast<std::size_t>(i)] * 3 < distinct &&
                         data.codes[static_cast<std::size_t>(n + i)] * 2 > distinct;
        data.labels.push_back((hit != (random.below(20) == 0)) ? 1 : 0);
    }
    return data;
}

bool same(const rules::RuleList& a, const rules::RuleList& b) {
    return a.rule_class == b.rule_class && a.first == b.first && a.column == b.column && a.test == b.test &&
           a.code == b.code && a.event_value == b.event_value;
}

rules::RipperOptions ripper_options() { return {3, 2.0, 2, 0, true, true, 7, 1}; }

}  // namespace

TEST("RIPPER finds one interval as one rule") {
    Data data;
    std::vector<std::uint32_t> column(100);
    std::iota(column.begin(), column.end(), 0U);
    data.add(column, 100, false);
    for (int i = 0; i < 100; ++i) data.labels.push_back(i > 70 ? 1 : 0);
    const auto list = rules::ripper(data.columns(), data.target(), ripper_options());
    CHECK(list.rule_class == std::vector<std::int32_t>{1});
    CHECK(list.column.size() == 1 && list.test[0] == 1 && list.code[0] >= 68 && list.code[0] <= 72);
}

TEST("bit-vectors per code and sorted lists find the same rules: weights of one change nothing") {
    for (const std::uint32_t distinct : {3U, 20U, 200U}) {
        const Data data = coded_data(700, distinct, distinct);
        const std::vector<double> ones(700, 1.0);
        CHECK(same(rules::ripper(data.columns(), data.target(), ripper_options()),
                   rules::ripper(data.columns(), data.target(ones.data()), ripper_options())));
        const rules::CoverOptions cover{rules::Quality::laplace, 3, false, true, 3, 1.0, 0, 0, 0.0, 5, 1};
        CHECK(same(rules::sequential_covering(data.columns(), data.target(), cover),
                   rules::sequential_covering(data.columns(), data.target(ones.data()), cover)));
    }
}

TEST("the best tests do not depend on the number of threads, and bins bring the same ones as trying every cut") {
    const Data data = coded_data(3000, 700, 3);
    rules::Bits cover(47, 0), positive(47, 0);
    for (index_t i = 0; i < data.n; ++i) {
        if (i % 3 != 0) rules::put(cover, i);
        if (data.labels[static_cast<std::size_t>(i)] == 1) rules::put(positive, i);
    }
    const rules::Measure measure(rules::Quality::foil, rules::weight_of(cover, positive, nullptr),
                                 rules::weight_of(cover, rules::without(cover, positive), nullptr));
    std::vector<std::array<rules::Candidate, 4>> one, three, every;
    rules::Table(data.columns(), 1).search(cover, positive, nullptr, measure, 1.0, false, one);
    rules::Table(data.columns(), 3, 0).search(cover, positive, nullptr, measure, 1.0, false, three);
    rules::Table(data.columns(), 1).search(cover, positive, nullptr, measure, 1.0, true, every);
    double best = 0, best_of_one = 0;
    for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t t = 0; t < 4; ++t) {
            CHECK(one[j][t].found == three[j][t].found && one[j][t].score == three[j][t].score);
            CHECK(one[j][t].condition.code == three[j][t].condition.code);
            best_of_one = std::max(best_of_one, every[j][t].found ? every[j][t].score : 0.0);
        }
        if (data.n_categories[j] > 0) continue;
        std::vector<double> p(701, 0.0), n(701, 0.0);
        for (index_t i = 0; i < data.n; ++i)
            if (i % 3 != 0)
                (data.labels[static_cast<std::size_t>(i)] == 1 ? p : n)[data.codes[j * 3000 + static_cast<std::size_t>(i)]] += 1;
        double low_p = 0, low_n = 0, below = 0;
        for (std::size_t c = 0; c + 1 < 700; ++c) {
            low_p += p[c];
            low_n += n[c];
            if (low_p > 0) below = std::max(below, measure.value(low_p, low_n));
        }
        CHECK_NEAR(one[j][0].found ? one[j][0].score : 0.0, below, 1e-9);
        best = std::max({best, below, one[j][1].found ? one[j][1].score : 0.0});
    }
    CHECK(best_of_one >= best - 1e-9);
}

TEST("canonical rows: groups hold equal rows, and a shuffle gives the same contents in the same order") {
    const Data data = coded_data(500, 3, 11);
    std::vector<std::size_t> shuffled(500);
    std::iota(shuffled.begin(), shuffled.end(), std::size_t{0});
    Random random(1);
    for (std::size_t i = 499; i > 0; --i) std::swap(shuffled[i], shuffled[random.below(static_cast<std::uint32_t>(i + 1))]);
    Data other = data;
    for (std::size_t i = 0; i < 500; ++i) {
        other.labels[i] = data.labels[shuffled[i]];
        for (std::size_t j = 0; j < 4; ++j) other.codes[j * 500 + i] = data.codes[j * 500 + shuffled[i]];
    }
    const auto contents = [](const Data& table, std::int64_t row) {
        std::vector<std::uint32_t> cells{static_cast<std::uint32_t>(table.labels[static_cast<std::size_t>(row)])};
        for (std::size_t j = 0; j < 4; ++j) cells.push_back(table.codes[j * 500 + static_cast<std::size_t>(row)]);
        return cells;
    };
    const auto a = data.canonical();
    const auto b = other.canonical();
    CHECK(a.first.size() == b.first.size() && a.first.size() < 500);
    std::set<std::vector<std::uint32_t>> distinct;
    for (std::size_t g = 0; g < a.first.size(); ++g) {
        CHECK(contents(data, a.first[g]) == contents(other, b.first[g]));
        distinct.insert(contents(data, a.first[g]));
    }
    CHECK(distinct.size() == a.first.size());
    for (std::int64_t i = 0; i < 500; ++i)
        CHECK(contents(data, i) == contents(data, a.first[static_cast<std::size_t>(a.group[static_cast<std::size_t>(i)])]));
}
