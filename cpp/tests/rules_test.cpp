#include "assay/rules/rules.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "assay/common/random.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// Columns of codes where code c stands for the value c.
struct Data {
    index_t n = 0, d = 0;
    std::vector<std::uint32_t> codes;
    std::vector<std::int64_t> offsets{0};
    std::vector<double> values;
    std::vector<std::int32_t> n_categories, labels, order{1, 0};

    void add(const std::vector<std::uint32_t>& column, std::uint32_t distinct, bool nominal) {
        n = static_cast<index_t>(column.size());
        ++d;
        codes.insert(codes.end(), column.begin(), column.end());
        for (std::uint32_t c = 0; c < distinct; ++c) values.push_back(c);
        offsets.push_back(static_cast<std::int64_t>(values.size()));
        n_categories.push_back(nominal ? static_cast<std::int32_t>(distinct) : 0);
    }
    rules::Columns columns() const { return {codes.data(), n, d, offsets.data(), values.data(), n_categories.data()}; }
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

rules::RipperOptions ripper_options(int threads = 1) { return {3, 2.0, 2, 0, true, true, 7, threads}; }

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

TEST("rules do not depend on the number of threads") {
    const Data data = coded_data(40000, 500, 3);
    CHECK(same(rules::ripper(data.columns(), data.target(), ripper_options(1)),
               rules::ripper(data.columns(), data.target(), ripper_options(3))));
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
    const auto a = rules::canonical_rows(data.codes.data(), 500, 4, data.labels.data());
    const auto b = rules::canonical_rows(other.codes.data(), 500, 4, other.labels.data());
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
