// Neighbour search: the screened Euclidean index, panels for any metric, the k-d tree.
#include "assay/common/large_pages.hpp"
#include "assay/neighbours/byte_screen.hpp"
#include "assay/neighbours/distance_reduce.hpp"
#include "assay/neighbours/kernel_functions.hpp"
#include "assay/neighbours/mixed_tree.hpp"
#include "assay/neighbours/votes.hpp"
#include "bindings.hpp"
#include "checked_tree.hpp"
#include "listed_rows.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <new>

namespace assay::bindings {
namespace {

using namespace assay::neighbours;
using Rows = Array2<const double>;
using Flags = Array1<const std::uint8_t>;

std::size_t to_size(index_t n) { return static_cast<std::size_t>(n); }

// Panels begin on a cache line, so that no vector load touches two.
template <class T>
struct Aligned {
    explicit Aligned(std::size_t size)
        : size(size), data(static_cast<T*>(::operator new(size * sizeof(T) + 1, std::align_val_t{64}))) {}
    Aligned(const Aligned&) = delete;
    ~Aligned() { ::operator delete(data, std::align_val_t{64}); }
    Result1<T> own() {
        nb::capsule owner(data, [](void* p) noexcept { ::operator delete(p, std::align_val_t{64}); });
        Result1<T> array(data, {size}, owner);
        data = nullptr;
        return array;
    }
    std::size_t size;
    T* data;
};

nb::object euclidean_screen(const Rows& rows, int threads) {
    const auto X = view(rows);
    const index_t padded = screen_panel_count(X.rows) * screen_points;
    Aligned<float> panels(to_size(padded * X.cols)), half_norms(to_size(padded));
    std::vector<double> centre(to_size(X.cols));
    const ScreenScale scale =
        without_gil([&] { return build_screen(X, panels.data, half_norms.data, centre.data(), threads); });
    if (!scale.usable) return nb::none();
    return nb::make_tuple(panels.own(), half_norms.own(), own(std::move(centre)), scale.scale, scale.largest_norm);
}

Screen checked_screen(const char* kernel, const Rows& rows, const Array1<const float>& panels,
                      const Array1<const float>& half_norms, const Array1<const double>& centre, double scale,
                      double largest_norm, const Rows& queries) {
    const index_t padded = screen_panel_count(view(rows).rows) * screen_points;
    require(half_norms.shape(0) == to_size(padded), kernel, "half_norms must have one value per padded row");
    require(panels.shape(0) == to_size(padded) * rows.shape(1), kernel, "panels must hold every padded row");
    require(centre.shape(0) == rows.shape(1), kernel, "centre must have one value per column");
    for (std::size_t i = rows.shape(0); i < to_size(padded); ++i)
        require(half_norms.data()[i] == std::numeric_limits<float>::infinity(), kernel,
                "half_norms must be infinite after the last row");
    require(queries.shape(1) == rows.shape(1), kernel, "queries must have the columns of rows");
    return {panels.data(), half_norms.data(), centre.data(), scale, largest_norm};
}

// Runs search(rows, distances) and returns both as m x k arrays.
template <class Search>
nb::tuple nearest_arrays(const char* kernel, index_t n, const Rows& queries, index_t k, Search&& search) {
    require(k >= 1 && k <= n, kernel, "k must be between 1 and the number of rows");
    const std::size_t m = queries.shape(0);
    std::vector<std::int64_t> nearest(m * to_size(k));
    std::vector<double> distances(m * to_size(k));
    without_gil([&] { search(nearest.data(), distances.data()); });
    return nb::make_tuple(own(std::move(nearest), m, to_size(k)), own(std::move(distances), m, to_size(k)));
}

nb::object byte_screen(const Rows& rows, bool only_if_it_pays, int threads) {
    const auto X = view(rows);
    if (!byte_products() || X.cols > most_byte_columns) return nb::none();
    const index_t padded = byte_panel_count(X.rows) * byte_points;
    Aligned<std::uint8_t> panels(to_size(padded * byte_width(X.cols)));
    Aligned<float> half_norms(to_size(padded)), steps(to_size(padded)), residuals(to_size(padded));
    std::vector<double> centre(to_size(X.cols));
    const double scale = without_gil([&] {
        return build_byte_screen(X, {panels.data, half_norms.data, steps.data, residuals.data, centre.data()},
                                 only_if_it_pays, threads);
    });
    if (scale == 0.0) return nb::none();
    return nb::make_tuple(panels.own(), half_norms.own(), steps.own(), residuals.own(), own(std::move(centre)), scale);
}

nb::tuple byte_screen_nearest(const Rows& rows, const Flags& panels, const Array1<const float>& half_norms,
                              const Array1<const float>& steps, const Array1<const float>& residuals,
                              const Array1<const double>& centre, double scale, const Rows& queries, index_t k,
                              int threads) {
    const char* const kernel = "byte_screen_nearest";
    const auto X = view(rows), Q = view(queries);
    const auto padded = to_size(byte_panel_count(X.rows) * byte_points);
    require(half_norms.shape(0) == padded && steps.shape(0) == padded && residuals.shape(0) == padded, kernel,
            "half_norms, steps and residuals must have one value per padded row");
    require(X.cols >= 1 && X.cols <= most_byte_columns && panels.shape(0) == padded * to_size(byte_width(X.cols)), kernel,
            "panels must hold every padded row");
    require(centre.shape(0) == rows.shape(1), kernel, "centre must have one value per column");
    require(queries.shape(1) == rows.shape(1), kernel, "queries must have the columns of rows");
    for (std::size_t i = rows.shape(0); i < padded; ++i)
        require(half_norms.data()[i] == std::numeric_limits<float>::infinity(), kernel,
                "half_norms must be infinite after the last row");
    const ByteScreen screen{panels.data(), half_norms.data(), steps.data(), residuals.data(), centre.data(), scale};
    return nearest_arrays(kernel, X.rows, queries, k, [&](std::int64_t* nearest, double* distances) {
        nearest_by_bytes(X, screen, Q, k, nearest, distances, threads);
    });
}

Metric checked_metric(const char* kernel, int metric) {
    require(metric >= 0 && metric < metric_count, kernel, "unknown metric");
    return static_cast<Metric>(metric);
}

MetricOptions checked_panels(const char* kernel, Metric metric, double p, const Flags& nominal,
                             const Array1<const double>& panels, index_t n, const Rows& queries) {
    require(n > 0 && panels.shape(0) == to_size(panel_count(n) * panel_lanes) * queries.shape(1), kernel,
            "panels must hold n rows with the columns of queries");
    MetricOptions options;
    options.p = p;
    if (metric == Metric::mixed) {
        require(nominal.shape(0) == queries.shape(1), kernel, "nominal must have one flag per column");
        options.nominal = nominal.data();
    }
    return options;
}

MixedTreeView checked_mixed_tree(const char* kernel, const Array1<const std::int32_t>& order,
                                 const Array1<const std::int32_t>& right, const Array1<const std::int32_t>& panel,
                                 const Array1<const std::int64_t>& first_row, const Array1<const double>& low,
                                 const Array1<const double>& high, const Flags& known,
                                 const Array1<const double>& panels, const Array1<const double>& base,
                                 const Array1<const double>& unit, const Flags& bytes,
                                 const Array1<const std::int64_t>& byte_block, const Flags& nominal, index_t n,
                                 const Rows& queries) {
    const std::size_t nodes = right.shape(0), cells = nodes * queries.shape(1);
    require(nodes > 0 && panel.shape(0) == nodes + 1 && first_row.shape(0) == nodes, kernel,
            "node arrays must have one length");
    require(low.shape(0) == cells && high.shape(0) == cells && known.shape(0) == cells, kernel,
            "nodes must have the columns of queries");
    require(nominal.shape(0) == queries.shape(1), kernel, "nominal must have one flag per column");
    require(order.shape(0) % panel_lanes == 0 && panels.shape(0) == order.shape(0) * queries.shape(1), kernel,
            "panels must hold every row with the columns of queries");
    require(base.shape(0) == cells && unit.shape(0) == nodes && byte_block.shape(0) == nodes, kernel,
            "node arrays must have one length");
    const MixedTreeView tree{order.data(),
                             right.data(),
                             panel.data(),
                             first_row.data(),
                             low.data(),
                             high.data(),
                             known.data(),
                             panels.data(),
                             base.data(),
                             unit.data(),
                             bytes.data(),
                             byte_block.data(),
                             nominal.data(),
                             static_cast<index_t>(nodes),
                             static_cast<index_t>(order.shape(0)) / panel_lanes,
                             static_cast<index_t>(bytes.shape(0)),
                             static_cast<index_t>(queries.shape(1)),
                             n};
    require(well_formed(tree), kernel, "the links of the tree must lead to its nodes and rows");
    return tree;
}

template <class Count>
Result1<std::int64_t> count_array(const Rows& queries, Count&& count) {
    std::vector<std::int64_t> counts(queries.shape(0));
    without_gil([&] { count(counts.data()); });
    return own(std::move(counts));
}

// Runs search() without the lock and returns (start, rows, distances).
template <class Search>
nb::tuple radius_arrays(Search&& search) {
    RadiusLists lists = without_gil([&] { return search(); });
    return nb::make_tuple(own(std::move(lists.start)), own(std::move(lists.rows)), own(std::move(lists.distances)));
}

// What a search gives, by its limit: the k nearest rows, how many lie within a radius, or which.
template <class Search>
auto nearest_by(Search search) {
    return [search](const char* kernel, const auto& index, index_t n, const Rows& queries, index_t k, int threads) {
        return nearest_arrays(kernel, n, queries, k, [&, Q = view(queries)](std::int64_t* nearest, double* distances) {
            search(index, Q, k, nearest, distances, threads);
        });
    };
}
template <class Count>
auto count_by(Count count) {
    return [count](const char*, const auto& index, index_t, const Rows& queries, double radius, int threads) {
        return count_array(queries, [&, Q = view(queries)](std::int64_t* counts) {
            count(index, Q, radius, counts, threads);
        });
    };
}
template <class Search>
auto within_by(Search search) {
    return [search](const char*, const auto& index, index_t, const Rows& queries, double radius, int threads) {
        return radius_arrays([&, Q = view(queries)] { return search(index, Q, radius, threads); });
    };
}

struct ScreenedRows {
    Matrix<const double> rows;
    Screen screen;
};
struct MetricPanels {
    Metric metric;
    MetricOptions options;
    const double* panels;
    index_t n;
};
struct MetricTree {
    KdTreeView tree;
    Metric metric;
    double p;
};

// One function of the module per index and kind of limit: the index is checked, then searched.
template <class Limit, class Run>
void def_euclidean(nb::module_& m, const char* name, const char* limit, const char* text, Run run) {
    m.def(
        name,
        [name, run](const Rows& rows, const Array1<const float>& panels, const Array1<const float>& half_norms,
                    const Array1<const double>& centre, double scale, double largest_norm, const Rows& queries,
                    Limit asked, int threads) {
            const ScreenedRows index{view(rows), checked_screen(name, rows, panels, half_norms, centre, scale,
                                                                largest_norm, queries)};
            return run(name, index, index.rows.rows, queries, asked, threads);
        },
        "rows"_a, "panels"_a, "half_norms"_a, "centre"_a, "scale"_a, "largest_norm"_a, "queries"_a, nb::arg(limit),
        "threads"_a, text);
}
template <class Limit, class Run>
void def_metric(nb::module_& m, const char* name, const char* limit, const char* text, Run run) {
    m.def(
        name,
        [name, run](int metric_code, double p, const Flags& nominal, const Array1<const double>& panels, index_t n,
                    const Rows& queries, Limit asked, int threads) {
            const Metric metric = checked_metric(name, metric_code);
            const MetricPanels index{metric, checked_panels(name, metric, p, nominal, panels, n, queries),
                                     panels.data(), n};
            return run(name, index, n, queries, asked, threads);
        },
        "metric"_a, "p"_a, "nominal"_a, "panels"_a, "n"_a, "queries"_a, nb::arg(limit), "threads"_a, text);
}
template <class Limit, class Run>
void def_kd_tree(nb::module_& m, const char* name, const char* limit, const char* text, Run run) {
    m.def(
        name,
        [name, run](const Array1<const std::int32_t>& order, const Array1<const std::int32_t>& column,
                    const Array1<const std::int32_t>& right, const Array1<const double>& low,
                    const Array1<const double>& high, const Rows& rows, int metric, double p, const Rows& queries, Limit asked,
                    int threads) {
            require(metric >= 0 && metric <= static_cast<int>(Metric::minkowski), name, "metric has no tree");
            require(queries.shape(1) == rows.shape(1), name, "queries must have the columns of rows");
            const MetricTree index{checked_tree(name, order, column, right, low, high, rows), static_cast<Metric>(metric), p};
            return run(name, index, index.tree.rows.rows, queries, asked, threads);
        },
        "order"_a, "column"_a, "right"_a, "low"_a, "high"_a, "rows"_a, "metric"_a, "p"_a, "queries"_a,
        nb::arg(limit), "threads"_a, text);
}
template <class Limit, class Run>
void def_mixed_tree(nb::module_& m, const char* name, const char* limit, const char* text, Run run) {
    m.def(
        name,
        [name, run](const Array1<const std::int32_t>& order, const Array1<const std::int32_t>& right,
                    const Array1<const std::int32_t>& panel, const Array1<const std::int64_t>& first_row,
                    const Array1<const double>& low, const Array1<const double>& high, const Flags& known,
                    const Array1<const double>& panels, const Array1<const double>& base,
                    const Array1<const double>& unit, const Flags& bytes, const Array1<const std::int64_t>& byte_block,
                    const Flags& nominal, index_t n, const Rows& queries, Limit asked, int threads) {
            const MixedTreeView tree = checked_mixed_tree(name, order, right, panel, first_row, low, high, known,
                                                          panels, base, unit, bytes, byte_block, nominal, n, queries);
            return run(name, tree, n, queries, asked, threads);
        },
        "order"_a, "right"_a, "panel"_a, "first_row"_a, "low"_a, "high"_a, "known"_a, "panels"_a, "base"_a, "unit"_a,
        "bytes"_a, "byte_block"_a, "nominal"_a, "n"_a, "queries"_a, nb::arg(limit), "threads"_a, text);
}

const char* const nearest_text = "Row numbers and reduced distances of the k nearest rows of each query.";
const char* const count_text = "How many rows lie within the reduced radius of each query.";
const char* const within_text = "The rows within the reduced radius of each query: (start, rows, reduced distances).";

}  // namespace

void bind_neighbours(nb::module_& m) {
    m.def("euclidean_screen", &euclidean_screen, "rows"_a, "threads"_a,
          "The float32 index of rows: (panels, half_norms, centre, scale, largest_norm), or None if out of range.");
    m.def("byte_screen", &byte_screen, "rows"_a, "only_if_it_pays"_a, "threads"_a,
          "The rows in bytes: (panels, half_norms, steps, residuals, centre, scale), or None if they or the machine cannot.");
    m.def("byte_screen_nearest", &byte_screen_nearest, "rows"_a, "panels"_a, "half_norms"_a, "steps"_a, "residuals"_a,
          "centre"_a, "scale"_a, "queries"_a, "k"_a, "threads"_a,
          nearest_text);
    def_euclidean<index_t>(m, "euclidean_nearest", "k", nearest_text, nearest_by([](const auto& index, auto... asked) {
        nearest_euclidean(index.rows, index.screen, asked...);
    }));
    def_euclidean<double>(m, "euclidean_count", "squared_radius", count_text, count_by([](const auto& index, auto... asked) {
        count_euclidean(index.rows, index.screen, asked...);
    }));
    def_euclidean<double>(m, "euclidean_within", "squared_radius", within_text,
                          within_by([](const auto& index, auto... asked) {
                              return within_euclidean(index.rows, index.screen, asked...);
                          }));
    m.def(
        "metric_panels",
        [](const Rows& rows, int threads) {
            const auto X = view(rows);
            Aligned<double> panels(to_size(panel_count(X.rows) * panel_lanes * X.cols));
            without_gil([&] { pack_panels(X, nullptr, panels.data, threads); });
            return panels.own();
        },
        "rows"_a, "threads"_a, "The rows as panels of 16 points, dimension by dimension.");
    def_metric<index_t>(m, "metric_nearest", "k", nearest_text, nearest_by([](const auto& index, auto... asked) {
        nearest_by_metric(index.metric, index.options, index.panels, index.n, asked...);
    }));
    def_metric<double>(m, "metric_count", "radius", count_text, count_by([](const auto& index, auto... asked) {
        count_by_metric(index.metric, index.options, index.panels, index.n, asked...);
    }));
    def_metric<double>(m, "metric_within", "radius", within_text, within_by([](const auto& index, auto... asked) {
        return within_by_metric(index.metric, index.options, index.panels, index.n, asked...);
    }));
    m.def(
        "nearest_of_candidates",
        [](int metric_code, double p, const Flags& nominal, const Rows& rows, const Rows& queries,
           const Array2<const std::int64_t>& candidates, const Rows& bounds, double ratio,
           const Array1<const double>& slack, index_t k, int threads,
           const std::optional<Array1<const std::int64_t>>& place, const std::optional<Flags>& kept,
           const std::optional<Array1<const double>>& mean, const std::optional<Array1<const double>>& factor) {
            const char* kernel = "nearest_of_candidates";
            const Metric metric = checked_metric(kernel, metric_code);
            require(queries.shape(1) == rows.shape(1), kernel, "queries must have the columns of rows");
            const std::size_t m = queries.shape(0), lists = candidates.shape(0), length = candidates.shape(1);
            require((place ? place->shape(0) : lists) == m, kernel, "candidates must have one list per query");
            require(!kept || kept->shape(0) == rows.shape(0), kernel, "kept must have one flag per row");
            require(mean.has_value() == factor.has_value(), kernel, "mean and factor must come together");
            require(!mean || (mean->shape(0) == rows.shape(1) && factor->shape(0) == rows.shape(1)), kernel,
                    "mean and factor must have one value per column");
            require(bounds.shape(0) == candidates.shape(0) && bounds.shape(1) == candidates.shape(1), kernel,
                    "bounds must have the shape of candidates");
            require(slack.shape(0) == queries.shape(0), kernel, "slack must have one value per query");
            require(metric != Metric::mixed || nominal.shape(0) == rows.shape(1), kernel,
                    "nominal must have one flag per column");
            const auto X = view(rows), Q = view(queries);
            for (std::size_t i = 0; i < m; ++i) {
                const std::int64_t list = place ? place->data()[i] : static_cast<std::int64_t>(i);
                require(list >= 0 && list < static_cast<std::int64_t>(lists), kernel, "place must be numbers of lists");
                const std::int64_t* const listed = candidates.data() + to_size(list) * length;
                const auto is_row = [&](std::int64_t row) { return row >= -1 && row < X.rows; };
                require(std::all_of(listed, listed + length, is_row), kernel, "candidates must be row numbers or -1");
            }
            require(k >= 1, kernel, "k must be at least 1");
            MetricOptions options;
            options.p = p;
            options.nominal = metric == Metric::mixed ? nominal.data() : nullptr;
            std::vector<std::int64_t> nearest(m * to_size(k), -1), found(m);
            std::vector<double> distances(m * to_size(k), std::numeric_limits<double>::infinity());
            without_gil([&] {
                const CandidateLists listed{candidates.data(), bounds.data(), static_cast<index_t>(length), ratio,
                                            slack.data(), place ? place->data() : nullptr,
                                            kept ? kept->data() : nullptr};
                const Scaling scaling{mean ? mean->data() : nullptr, factor ? factor->data() : nullptr};
                nearest_of_candidates(metric, options, X, scaling, Q, listed, k, nearest.data(), distances.data(),
                                      found.data(), threads);
            });
            return nb::make_tuple(own(std::move(nearest), m, to_size(k)), own(std::move(distances), m, to_size(k)),
                                  own(std::move(found)));
        },
        "metric"_a, "p"_a, "nominal"_a, "rows"_a, "queries"_a, "candidates"_a, "bounds"_a, "ratio"_a, "slack"_a,
        "k"_a, "threads"_a, "place"_a = nb::none(), "kept"_a = nb::none(), "mean"_a = nb::none(),
        "factor"_a = nb::none(),
        "The k nearest of each query's listed rows (-1 for none): row numbers, reduced distances, how many there are; "
        "listed row c is no nearer than ratio * bounds[c] - slack, and neither are the rows after it. The list of query "
        "i is number place[i], rows whose flag in kept is 0 are left out, and rows are compared as (x - mean) * factor.");
    m.def(
        "vote_shares",
        [](const Array2<const std::int64_t>& rows, const Array1<const std::int32_t>& codes,
           const std::optional<Rows>& weights, std::size_t classes, int threads) {
            const char* kernel = "vote_shares";
            require(!weights || (weights->shape(0) == rows.shape(0) && weights->shape(1) == rows.shape(1)), kernel,
                    "weights must have the shape of rows");
            require(are_between(rows.data(), static_cast<index_t>(rows.size()), 0, static_cast<index_t>(codes.shape(0))),
                    kernel, "rows must be numbers of codes");
            std::int32_t low = 0, high = -1;
            for (std::size_t i = 0; i < codes.shape(0); ++i) {
                low = std::min(low, codes.data()[i]);
                high = std::max(high, codes.data()[i]);
            }
            require(low >= 0 && high < static_cast<index_t>(classes), kernel, "codes must be numbers of classes");
            std::vector<double> shares(rows.shape(0) * classes);
            without_gil([&] {
                vote_shares(rows.data(), static_cast<index_t>(rows.shape(0)), static_cast<index_t>(rows.shape(1)),
                            codes.data(), weights ? weights->data() : nullptr, static_cast<index_t>(classes),
                            shares.data(), threads);
            });
            return own(std::move(shares), rows.shape(0), classes);
        },
        "rows"_a.noconvert(), "codes"_a.noconvert(), "weights"_a.none(), "classes"_a, "threads"_a,
        "The share of each class in the vote of the listed rows, which count by their weights.");
    m.def(
        "nearest_in_folds",
        [](int metric_code, double p, const Rows& rows, const ListsOfRows& trains, const ListsOfRows& tests,
           const std::optional<Rows>& mean, const std::optional<Rows>& factor, const Array1<const double>& ratio,
           const Array1<const double>& slack, const Array1<const std::int64_t>& place,
           const Array2<const std::int64_t>& candidates, const Rows& bounds, index_t k, int threads) {
            const char* kernel = "nearest_in_folds";
            const Metric metric = checked_metric(kernel, metric_code);
            const std::size_t n = rows.shape(0), folds = tests.size(), length = candidates.shape(1);
            const RowLists train_rows = checked_lists(kernel, trains, n), test_rows = checked_lists(kernel, tests, n);
            require(metric != Metric::mixed, kernel, "the metric must compare numbers");
            require(trains.size() == folds && ratio.shape(0) == folds && slack.shape(0) == folds, kernel,
                    "every fold must have training rows, a ratio and a slack");
            const auto scales = [&](const std::optional<Rows>& part) {
                return !part || (part->shape(0) == folds && part->shape(1) == rows.shape(1));
            };
            require(mean.has_value() == factor.has_value() && scales(mean) && scales(factor), kernel,
                    "mean and factor must have one row per fold");
            require(bounds.shape(0) == candidates.shape(0) && bounds.shape(1) == length, kernel,
                    "bounds must have the shape of candidates");
            require(k >= 1 && place.shape(0) == n, kernel, "k must be at least 1 and place have one number per row");
            for (const RowList& list : test_rows)
                for (index_t i = 0; i < list.count; ++i) {
                    const std::int64_t at = place(to_size(list.rows[i]));
                    require(at >= 0 && to_size(at) < candidates.shape(0), kernel, "place must be numbers of lists");
                }
            require(are_between(candidates.data(), static_cast<index_t>(candidates.size()), -1, static_cast<index_t>(n)),
                    kernel, "candidates must be row numbers or -1");
            MetricOptions options;
            options.p = p;
            const std::size_t m = listed(test_rows);
            std::vector<std::int64_t> nearest(m * to_size(k), -1), found(m);
            std::vector<double> distances(m * to_size(k), std::numeric_limits<double>::infinity());
            without_gil([&] {
                const FoldQueries asked{train_rows, test_rows, mean ? mean->data() : nullptr,
                                        factor ? factor->data() : nullptr, ratio.data(), slack.data(), place.data()};
                nearest_in_folds(metric, options, view(rows), asked, candidates.data(), bounds.data(),
                                 static_cast<index_t>(length), k, nearest.data(), distances.data(), found.data(), threads);
            });
            return nb::make_tuple(own(std::move(nearest), m, to_size(k)), own(std::move(distances), m, to_size(k)),
                                  own(std::move(found)));
        },
        "metric"_a, "p"_a, "rows"_a.noconvert(), "trains"_a, "tests"_a, "mean"_a.none(), "factor"_a.none(), "ratio"_a,
        "slack"_a, "place"_a, "candidates"_a.noconvert(), "bounds"_a.noconvert(), "k"_a, "threads"_a,
        "nearest_of_candidates for the test rows of many folds among their training rows, one fold below the other.");
    m.def(
        "kd_tree",
        [](const Rows& rows, int threads) {
            const auto X = view(rows);
            require(X.rows > 0 && X.cols > 0, "kd_tree", "rows must not be empty");
            require(X.rows < most_tree_rows, "kd_tree", "rows must be fewer than 2^31");
            KdTree tree = without_gil([&] { return build_kd_tree(X, threads); });
            return nb::make_tuple(own(std::move(tree.order)), own(std::move(tree.column)), own(std::move(tree.right)),
                                  own(std::move(tree.low)), own(std::move(tree.high)));
        },
        "rows"_a, "threads"_a, "The k-d tree of rows: (order, column, right, low, high).");
    def_kd_tree<index_t>(m, "kd_tree_nearest", "k", nearest_text, nearest_by([](const auto& index, auto... asked) {
        nearest_in_tree(index.tree, index.metric, index.p, asked...);
    }));
    def_kd_tree<double>(m, "kd_tree_count", "radius", count_text, count_by([](const auto& index, auto... asked) {
        count_in_tree(index.tree, index.metric, index.p, asked...);
    }));
    def_kd_tree<double>(m, "kd_tree_within", "radius", within_text, within_by([](const auto& index, auto... asked) {
        return within_in_tree(index.tree, index.metric, index.p, asked...);
    }));
    m.def(
        "mixed_tree",
        [](const Rows& rows, const Flags& nominal, int threads) {
            const auto X = view(rows);
            require(X.rows > 0 && X.cols > 0, "mixed_tree", "rows must not be empty");
            require(X.rows < most_tree_rows, "mixed_tree", "rows must be fewer than 2^31");
            require(nominal.shape(0) == rows.shape(1), "mixed_tree", "nominal must have one flag per column");
            MixedTree tree = without_gil([&] { return build_mixed_tree(X, nominal.data(), threads); });
            return nb::make_tuple(own(std::move(tree.order)), own(std::move(tree.right)), own(std::move(tree.panel)),
                                  own(std::move(tree.first_row)), own(std::move(tree.low)), own(std::move(tree.high)),
                                  own(std::move(tree.known)), own(std::move(tree.panels)), own(std::move(tree.base)),
                                  own(std::move(tree.unit)), own(std::move(tree.bytes)), own(std::move(tree.byte_block)));
        },
        "rows"_a, "nominal"_a, "threads"_a,
        "The tree of mixed rows: (order, right, panel, first_row, low, high, known, panels, base, unit, bytes, byte_block).");
    def_mixed_tree<index_t>(m, "mixed_tree_nearest", "k", nearest_text, nearest_by([](const auto&... asked) {
        nearest_in_mixed_tree(asked...);
    }));
    def_mixed_tree<double>(m, "mixed_tree_count", "radius", count_text, count_by([](const auto&... asked) {
        count_in_mixed_tree(asked...);
    }));
    def_mixed_tree<double>(m, "mixed_tree_within", "radius", within_text, within_by([](const auto&... asked) {
        return within_in_mixed_tree(asked...);
    }));
    m.def(
        "kernel_gram",
        [](int metric_code, double p, const Rows& rows, const Rows& queries, double gamma, int threads) {
            const Metric metric = checked_metric("kernel_gram", metric_code);
            require(metric != Metric::mixed, "kernel_gram", "metric must not be mixed");
            require(rows.shape(1) == queries.shape(1), "kernel_gram", "rows and queries must have the same columns");
            MetricOptions options;
            options.p = p;
            const auto X = view(rows), Q = view(queries);
            const bool half = X.data == Q.data && X.rows == Q.rows && (metric == Metric::euclidean || metric == Metric::manhattan);
            double* const gram = LargePages<double>().allocate(queries.shape(0) * rows.shape(0));
            nb::capsule owner(gram, [](void* memory) noexcept { std::free(memory); });
            Aligned<double> panels(to_size(panel_count(X.rows) * panel_lanes * X.cols));
            without_gil([&] {
                pack_panels(X, nullptr, panels.data, threads);
                kernel_gram(metric, options, panels.data, X.rows, Q, gamma, gram, threads, half);
            });
            return Result2<double>(gram, {queries.shape(0), rows.shape(0)}, owner);
        },
        "metric"_a, "p"_a, "rows"_a, "queries"_a, "gamma"_a, "threads"_a,
        "exp(-gamma r) of the reduced distance r of every query and row; r itself if gamma is negative.");
    m.def(
        "kernel_sums",
        [](int metric_code, double p, const Flags& nominal, const Array1<const double>& panels, index_t n,
           const Rows& queries, double gamma, std::optional<Array1<const double>> weights, int threads) {
            const Metric metric = checked_metric("kernel_sums", metric_code);
            const MetricOptions options = checked_panels("kernel_sums", metric, p, nominal, panels, n, queries);
            require(!weights || weights->shape(0) == to_size(n), "kernel_sums", "weights must have one value per row");
            require(gamma >= 0.0, "kernel_sums", "gamma must not be negative");
            const auto Q = view(queries);
            std::vector<double> sums(queries.shape(0));
            const double* given = weights ? weights->data() : nullptr;
            without_gil([&] { kernel_sums(metric, options, panels.data(), n, Q, gamma, given, sums.data(), threads); });
            return own(std::move(sums));
        },
        "metric"_a, "p"_a, "nominal"_a, "panels"_a, "n"_a, "queries"_a, "gamma"_a, "weights"_a.none(), "threads"_a,
        "The sum over rows of weight times exp(-gamma r), for each query.");
}

}  // namespace assay::bindings
