// Evaluation: bootstrap replicates, placements, clustering quality.
#include "assay/evaluate/clusterings.hpp"
#include "assay/evaluate/fold_tables.hpp"
#include "assay/evaluate/replicates.hpp"
#include "bindings.hpp"
#include "listed_rows.hpp"

namespace assay::bindings {
namespace {

using Floats = Array2<const double>;
using Integers = Array2<const std::int32_t>;
using Bytes = Array2<const std::uint8_t>;
using Counts = Array1<const std::int64_t>;

std::vector<double> room(index_t rows, index_t cols) { return std::vector<double>(static_cast<std::size_t>(rows * cols)); }
std::size_t extent(index_t size) { return static_cast<std::size_t>(size); }

nb::tuple replicate_rows_bound(index_t n, const Integers& orders, const Bytes& flags, bool want_precision,
                               const Integers& groups, const Floats& weights, const Counts& sizes,
                               const Floats& terms, const Floats& deviations, std::uint64_t key, std::uint64_t first,
                               index_t replicates, int threads) {
    const char* who = "replicate_rows";
    RowStatistics in{n, view(orders), view(flags), want_precision, view(groups), view(weights), view(sizes),
                     view(terms), view(deviations)};
    require(n > 0 && replicates >= 0, who, "n must be positive and replicates not negative");
    const auto fits = [n](auto m) { return m.rows == 0 || m.cols == n; };
    require(fits(in.orders) && fits(in.flags) && fits(in.groups) && fits(in.weights) && fits(in.terms) &&
                fits(in.deviations),
            who, "every array must have n columns");
    require(in.orders.rows == in.flags.rows, who, "orders and flags must have the same shape");
    require(in.weights.rows == 0 || in.weights.rows == in.groups.rows, who, "weights must be empty or one per set");
    require(in.sizes.size == in.groups.rows, who, "sizes must have one number per set of groups");
    index_t all_groups = 0;
    for (index_t s = 0; s < in.sizes.size; ++s) {
        all_groups += in.sizes[s];
        for (index_t i = 0; i < n; ++i)
            require(in.groups(s, i) >= 0 && in.groups(s, i) < in.sizes[s], who, "a group is out of range");
    }
    for (index_t r = 0; r < in.orders.rows; ++r)
        for (index_t i = 0; i < n; ++i)
            require(in.orders(r, i) >= 0 && in.orders(r, i) < n, who, "an order is out of range");
    const index_t rankings = in.orders.rows;
    auto areas = room(replicates, rankings), precisions = room(replicates, want_precision ? rankings : 0);
    auto sums = room(replicates, all_groups), term_sums = room(replicates, in.terms.rows);
    auto deviation_sums = room(replicates, in.deviations.rows);
    const RowReplicates out{areas.data(), precisions.data(), sums.data(), term_sums.data(), deviation_sums.data()};
    without_gil([&] { replicate_rows(in, key, first, replicates, threads, out); });
    const std::size_t rows = extent(replicates);
    return nb::make_tuple(own(std::move(areas), rows, extent(rankings)),
                          own(std::move(precisions), rows, extent(want_precision ? rankings : 0)),
                          own(std::move(sums), rows, extent(all_groups)),
                          own(std::move(term_sums), rows, extent(in.terms.rows)),
                          own(std::move(deviation_sums), rows, extent(in.deviations.rows)));
}

}  // namespace

void bind_evaluate(nb::module_& m) {
    m.def("replicate_rows", &replicate_rows_bound, "n"_a, "orders"_a, "flags"_a, "want_precision"_a, "groups"_a,
          "weights"_a, "sizes"_a, "terms"_a, "deviations"_a, "key"_a, "first"_a, "replicates"_a, "threads"_a,
          "Bootstrap replicates from row counts: areas, average precisions, group sums, term sums, deviations.");
    m.def(
        "fold_tables",
        [](const Floats& probabilities, const Counts& codes, const ListsOfRows& tests, int threads) {
            const char* who = "fold_tables";
            const RowLists lists = checked_lists(who, tests, codes.shape(0));
            const std::size_t rows = probabilities.shape(0), classes = probabilities.shape(1);
            require(listed(lists) == rows, who, "probabilities must have one row for each row of the lists");
            for (std::size_t i = 0; i < codes.shape(0); ++i)
                require(codes(i) >= 0 && static_cast<std::size_t>(codes(i)) < classes, who, "codes must be in 0 .. K - 1");
            std::vector<std::int64_t> predicted(rows), tables(lists.size() * classes * classes);
            without_gil([&] {
                fold_tables(view(probabilities), codes.data(), lists, predicted.data(), tables.data(), threads);
            });
            return nb::make_tuple(own(std::move(predicted)), own(std::move(tables), lists.size() * classes, classes));
        },
        "probabilities"_a.noconvert(), "codes"_a.noconvert(), "tests"_a, "threads"_a,
        "The likeliest class of each row of each list, and the confusion matrix of each list, one below the other.");
    m.def(
        "resample_rows",
        [](index_t n, std::uint64_t key, std::uint64_t first, index_t replicates, int threads) {
            require(n > 0 && replicates >= 0, "resample_rows", "n must be positive and replicates not negative");
            std::vector<std::uint8_t> counts(static_cast<std::size_t>(n * replicates));
            without_gil([&] { resample_rows(key, first, replicates, n, threads, counts.data()); });
            return own(std::move(counts), extent(replicates), extent(n));
        },
        "n"_a, "key"_a, "first"_a, "replicates"_a, "threads"_a, "How often each row is drawn in each replicate.");
    m.def(
        "replicate_cells",
        [](const Counts& counts, std::uint64_t key, std::uint64_t first, index_t replicates, int threads) {
            const auto cells = view(counts);
            require(replicates >= 0, "replicate_cells", "replicates must not be negative");
            for (index_t j = 0; j < cells.size; ++j)
                require(cells[j] >= 0, "replicate_cells", "counts must not be negative");
            auto drawn = room(replicates, cells.size);
            without_gil([&] { replicate_cells(cells, key, first, replicates, threads, drawn.data()); });
            return own(std::move(drawn), extent(replicates), extent(cells.size));
        },
        "counts"_a, "key"_a, "first"_a, "replicates"_a, "threads"_a, "Multinomial counts of cells per replicate.");
    m.def(
        "placements",
        [](const Array1<const std::int32_t>& order, const Array1<const std::uint8_t>& flags) {
            const auto places = view(order);
            const auto marks = view(flags);
            require(places.size == marks.size, "placements", "order and flags must have the same length");
            for (index_t i = 0; i < places.size; ++i)
                require(places[i] >= 0 && places[i] < places.size, "placements", "an order is out of range");
            std::vector<double> placed(extent(places.size));
            without_gil([&] { placements(places, marks, placed.data()); });
            return own(std::move(placed));
        },
        "order"_a, "flags"_a, "Per row: negatives below a positive, positives above a negative, ties half.");
    m.def(
        "expected_mutual_information",
        [](const Counts& a, const Counts& a_times, const Counts& b, const Counts& b_times, std::int64_t n,
           int threads) {
            const char* who = "expected_mutual_information";
            require(a.shape(0) == a_times.shape(0) && b.shape(0) == b_times.shape(0), who, "sizes and times must match");
            for (const Counts* sizes : {&a, &b})
                for (std::size_t i = 0; i < sizes->shape(0); ++i)
                    require((*sizes)(i) >= 1 && (*sizes)(i) <= n, who, "sizes must be between 1 and n");
            return without_gil([&] {
                return expected_mutual_information(view(a), view(a_times), view(b), view(b_times), n, threads);
            });
        },
        "a"_a, "a_times"_a, "b"_a, "b_times"_a, "n"_a, "threads"_a,
        "Expected mutual information of random partitions with these class sizes, in nats.");
    m.def(
        "silhouette",
        [](const Floats& columns, const Counts& start, int threads) {
            const auto points = view(columns);
            const auto first = view(start);
            require(points.cols >= 4, "silhouette", "needs at least 4 points");
            require(first.size >= 2 && first[0] == 0 && first[first.size - 1] == points.cols, "silhouette",
                    "start must run from 0 to the number of points");
            for (index_t c = 0; c + 1 < first.size; ++c)
                require(first[c] <= first[c + 1], "silhouette", "start must not fall");
            std::vector<double> s(extent(points.cols));
            without_gil([&] { silhouette(points, first, threads, s.data()); });
            return own(std::move(s));
        },
        "columns"_a, "start"_a, "threads"_a, "Silhouette of each point; points sorted by cluster, features as rows.");
}

}  // namespace assay::bindings
