#include "assay/rules/rules.hpp"
#include "coded_columns.hpp"

namespace assay::bindings {
namespace {

using Bytes = Array1<const std::uint8_t>;
using Starts = Array1<const std::int64_t>;
using Labels = Array1<const std::int32_t>;
using Weights = std::optional<Array1<const double>>;

nb::dict to_dict(rules::RuleList&& list) {
    nb::dict result;
    put(result, "rule_class", list.rule_class, "first", list.first, "column", list.column, "test", list.test, "code",
        list.code, "event_class", list.event_class, "event", list.event, "event_tests", list.event_tests, "event_value",
        list.event_value);
    return result;
}

rules::Columns columns_of(const Bytes& bytes, const Starts& first, const Bytes& width, const Starts& offsets,
                          const Array1<const double>& values, const ColumnCounts& n_categories, const Labels& labels,
                          const char* kernel) {
    const std::size_t d = width.shape(0);
    require(labels.shape(0) > 0 && d > 0, kernel, "needs rows and columns");
    require(n_categories.shape(0) == d && offsets.shape(0) == d + 1 && first.shape(0) == d + 1, kernel,
            "one entry per column");
    return {{static_cast<index_t>(labels.shape(0)), static_cast<index_t>(d), bytes.data(), first.data(), width.data(),
             offsets.data(), values.data()},
            n_categories.data()};
}

rules::Target target_of(const Labels& labels, const Labels& order, const Weights& weights, const char* kernel) {
    require(!weights || weights->shape(0) == labels.shape(0), kernel, "one weight per row");
    return {labels.data(), static_cast<int>(order.shape(0)), weights ? weights->data() : nullptr, order.data()};
}

}  // namespace

void bind_rules(nb::module_& m) {
    m.def(
        "canonical_rows",
        [](Cells cells, Array2<const tables::Entry> order, ColumnCounts n_categories, Labels labels) {
            const auto columns = coded_columns(cells, n_categories, "canonical_rows");
            require(labels.shape(0) == cells.shape(0), "canonical_rows", "one label per row");
            require(order.shape(0) == cells.shape(1) && order.shape(1) == cells.shape(0), "canonical_rows",
                    "one entry per column and row");
            auto rows = without_gil([&] { return rules::canonical_rows(columns, order.data(), labels.data()); });
            return nb::make_tuple(own(std::move(rows.first)), own(std::move(rows.group)));
        },
        "cells"_a.noconvert(), "order"_a.noconvert(), "n_categories"_a, "labels"_a,
        "One row of each group of equal rows, in an order that depends on contents alone, and the group of each row.");
    m.def(
        "ripper",
        [](Bytes codes, Starts first, Bytes width, Starts offsets, Array1<const double> values,
           ColumnCounts n_categories, Labels labels, Labels order, Weights weights, int folds,
           double min_positive, int optimisations, int max_conditions, bool prune, bool check_error, std::uint64_t key,
           int threads) {
            require(folds >= 2, "ripper", "folds must be at least 2");
            const auto columns = columns_of(codes, first, width, offsets, values, n_categories, labels, "ripper");
            const auto target = target_of(labels, order, weights, "ripper");
            const rules::RipperOptions options{folds, min_positive, optimisations, max_conditions,
                                               prune, check_error,  key,           threads};
            return to_dict(without_gil([&] { return rules::ripper(columns, target, options); }));
        },
        "codes"_a.noconvert(), "first"_a, "width"_a, "offsets"_a, "values"_a, "n_categories"_a, "labels"_a, "order"_a, "weights"_a.none(),
        "folds"_a, "min_positive"_a, "optimisations"_a, "max_conditions"_a, "prune"_a, "check_error"_a, "key"_a,
        "threads"_a, "RIPPER on rank codes; rules one after the other, and what happened on the way.");
    m.def(
        "sequential_covering",
        [](Bytes codes, Starts first, Bytes width, Starts offsets, Array1<const double> values,
           ColumnCounts n_categories, Labels labels, Labels order, Weights weights, int quality,
           int beam_width, bool ordered, bool prune, int folds, double min_positive, int max_conditions, int max_rules,
           double significance, std::uint64_t key, int threads) {
            require(folds >= 2 && beam_width >= 1, "sequential_covering", "folds >= 2 and beam_width >= 1");
            require(quality >= 0 && quality < 4, "sequential_covering", "unknown quality");
            const auto columns = columns_of(codes, first, width, offsets, values, n_categories, labels, "sequential_covering");
            const auto target = target_of(labels, order, weights, "sequential_covering");
            const rules::CoverOptions options{static_cast<rules::Quality>(quality), beam_width, ordered, prune, folds,
                                              min_positive, max_conditions, max_rules, significance, key, threads};
            return to_dict(without_gil([&] { return rules::sequential_covering(columns, target, options); }));
        },
        "codes"_a.noconvert(), "first"_a, "width"_a, "offsets"_a, "values"_a, "n_categories"_a, "labels"_a, "order"_a, "weights"_a.none(),
        "quality"_a, "beam_width"_a, "ordered"_a, "prune"_a, "folds"_a, "min_positive"_a, "max_conditions"_a,
        "max_rules"_a, "significance"_a, "key"_a, "threads"_a, "Sequential covering with beam search on rank codes.");
}

}  // namespace assay::bindings
