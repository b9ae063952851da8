#include <cmath>
#include "assay/prepare/chained_equations.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

using prepare::ChainOptions;
using prepare::Conditional;
using prepare::FittedChains;

// The flat arrays of fitted chains, each with its name: once for the way out, once for the way back.
template <class Chains, class Visit>
void visit_arrays(Chains& fitted, Visit&& visit) {
    visit("n_categories", fitted.design.n_categories);
    visit("centre", fitted.design.centre);
    visit("scale", fitted.design.scale);
    visit("method", fitted.method);
    visit("start", fitted.start);
    visit("coefficient", fitted.coefficient);
    visit("drawn", fitted.drawn);
    visit("deviation", fitted.deviation);
    visit("donor_offsets", fitted.donor_offsets);
    visit("donor_predictions", fitted.donor_predictions);
    visit("donor_values", fitted.donor_values);
    visit("node_offsets", fitted.leaves.trees.offsets);
    visit("feature", fitted.leaves.trees.feature);
    visit("left", fitted.leaves.trees.left);
    visit("right", fitted.leaves.trees.right);
    visit("threshold", fitted.leaves.trees.threshold);
    visit("categories", fitted.leaves.trees.categories);
    visit("words", fitted.leaves.trees.words);
    visit("missing_left", fitted.leaves.trees.missing_left);
    visit("leaf_offsets", fitted.leaves.offsets);
    visit("leaf_values", fitted.leaves.values);
}

bool ascending_to(const std::vector<std::int64_t>& offsets, std::size_t length, std::size_t last) {
    if (offsets.size() != length || offsets.front() != 0) return false;
    for (std::size_t k = 1; k < length; ++k)
        if (offsets[k] < offsets[k - 1]) return false;
    return offsets.back() == static_cast<std::int64_t>(last);
}

// Arrays may come from a file: what is drawn for a column of categories must be one of them, and trees must be trees.
void check_cells(const FittedChains& fitted, std::size_t chains, const char* who) {
    const std::size_t v = fitted.design.n_categories.size();
    const trees::Forest& trees = fitted.leaves.trees;
    const std::vector<std::int64_t>& offsets = fitted.leaves.offsets;
    const std::vector<double>& values = fitted.leaves.values;
    const auto fits = [&](std::size_t column, double cell) {
        const std::int32_t categories = fitted.design.n_categories[column];
        return std::isfinite(cell) && (categories == 0 || (cell >= 0 && cell < categories && cell == std::floor(cell)));
    };
    for (std::size_t j = 0; j < v; ++j)
        require(fitted.design.n_categories[j] >= 0 && fits(j, fitted.start[j]), who, "start must be a cell of its column");
    for (std::size_t number = 0; number < chains * v; ++number) {
        const std::size_t j = number % v;
        const bool nominal = fitted.design.n_categories[j] > 0;
        const auto kind = static_cast<Conditional>(fitted.method[j]);
        const bool known = kind == Conditional::tree || (kind == Conditional::logistic && nominal) ||
                           ((kind == Conditional::normal || kind == Conditional::matching) && !nominal);
        require(known, who, "a column must have a conditional of its kind");
        require(kind != Conditional::matching || fitted.donor_offsets[number] < fitted.donor_offsets[number + 1], who,
                "matching needs donors");
        require(kind != Conditional::tree || trees.offsets[number] < trees.offsets[number + 1], who,
                "a tree must have a node");
    }
    for (const double prediction : fitted.donor_predictions) require(std::isfinite(prediction), who, "donors must be numbers");
    for (std::size_t number = 0; number < chains * v; ++number) {
        const std::size_t column = number % v;
        for (std::int64_t k = fitted.donor_offsets[number]; k < fitted.donor_offsets[number + 1]; ++k)
            require(fits(column, fitted.donor_values[static_cast<std::size_t>(k)]), who, "donors must be cells of their column");
        const std::int64_t first = trees.offsets[number], count = trees.offsets[number + 1] - first;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(first + i);
            const std::int32_t tested = trees.feature[at];
            require(tested < static_cast<std::int32_t>(v), who, "tests must name columns");
            for (std::int64_t k = offsets[at]; k < offsets[at + 1]; ++k)
                require(fits(column, values[static_cast<std::size_t>(k)]), who, "leaves must hold cells of their column");
            if (tested < 0) {
                require(offsets[at] < offsets[at + 1], who, "leaves must hold cells");
                continue;
            }
            require(trees.left[at] > i && trees.left[at] < count && trees.right[at] > i && trees.right[at] < count, who,
                    "children must come after their parent");
            const std::int64_t needed = (fitted.design.n_categories[static_cast<std::size_t>(tested)] + 63) / 64;
            require(trees.categories[at] < 0 || trees.categories[at] + needed <= static_cast<std::int64_t>(trees.words.size()), who, "words are missing");
        }
    }
}

FittedChains from_dict(nb::dict arrays, std::size_t chains) {
    FittedChains fitted;
    visit_arrays(fitted, [&](const char* name, auto& to) {
        using Value = typename std::decay_t<decltype(to)>::value_type;
        const auto array = nb::cast<Array1<const Value>>(arrays[name]);
        to.assign(array.data(), array.data() + array.shape(0));
    });
    const char* who = "complete_rows";
    const std::size_t v = fitted.design.n_categories.size();
    fitted.design.first.assign(1, 0);
    for (const std::int32_t categories : fitted.design.n_categories)
        fitted.design.first.push_back(fitted.design.first.back() + (categories == 0 ? 1 : categories - 1));
    const auto p = static_cast<std::size_t>(fitted.design.width());
    require(v > 0 && fitted.design.centre.size() == v && fitted.design.scale.size() == v && fitted.method.size() == v &&
                fitted.start.size() == v && fitted.deviation.size() == chains * v,
            who, "one value per column");
    require(fitted.coefficient.size() == chains * p * (p + 1) && fitted.drawn.size() == fitted.coefficient.size(), who,
            "one row of coefficients per output");
    const trees::Forest& trees = fitted.leaves.trees;
    const std::size_t nodes = trees.feature.size();
    require(ascending_to(fitted.donor_offsets, chains * v + 1, fitted.donor_values.size()) &&
                fitted.donor_predictions.size() == fitted.donor_values.size(),
            who, "donors must match their offsets");
    require(ascending_to(trees.offsets, chains * v + 1, nodes) &&
                ascending_to(fitted.leaves.offsets, nodes + 1, fitted.leaves.values.size()) && trees.left.size() == nodes &&
                trees.right.size() == nodes && trees.threshold.size() == nodes && trees.categories.size() == nodes &&
                trees.missing_left.size() == nodes,
            who, "tree arrays must match their offsets");
    check_cells(fitted, chains, who);
    return fitted;
}

}  // namespace

void bind_chained_equations(nb::module_& m) {
    m.def(
        "run_chains",
        [](Array2<const double> cells, Array1<const std::int32_t> n_categories, Array1<const std::int32_t> method,
           Array1<const std::int32_t> order, Array1<const std::uint64_t> keys, index_t sweeps, index_t donors,
           double ridge, bool choose_ridge, bool draw, bool start_with_draws, int threads) {
            const std::size_t v = cells.shape(1);
            require(cells.shape(0) > 0 && v > 0 && n_categories.shape(0) == v && method.shape(0) == v, "run_chains",
                    "one entry per column");
            for (std::size_t k = 0; k < order.shape(0); ++k)
                require(order.data()[k] >= 0 && order.data()[k] < static_cast<std::int32_t>(v), "run_chains",
                        "order must name columns");
            require(donors > 0 && sweeps > 0, "run_chains", "needs donors and sweeps");
            require(ridge > 0 || !choose_ridge, "run_chains", "a ridge that is chosen starts above 0");
            const ChainOptions options{sweeps, donors, ridge, choose_ridge, draw, start_with_draws, threads};
            auto chains = without_gil([&] {
                return prepare::run_chains(view(cells), view(n_categories), view(method), view(order), view(keys), options);
            });
            nb::dict fitted;
            visit_arrays(chains.fitted, [&](const char* name, auto& values) { fitted[name] = own(std::move(values)); });
            const std::size_t count = keys.shape(0), holes = chains.imputed.size() / std::max<std::size_t>(count, 1);
            const std::size_t rows = count * static_cast<std::size_t>(sweeps);
            return nb::make_tuple(fitted, own(std::move(chains.imputed), count, holes), own(std::move(chains.mean), rows, v),
                                  own(std::move(chains.spread), rows, v));
        },
        "cells"_a.noconvert(), "n_categories"_a, "method"_a, "order"_a, "keys"_a, "sweeps"_a, "donors"_a, "ridge"_a,
        "choose_ridge"_a, "draw"_a, "start_with_draws"_a, "threads"_a,
        "Multiple imputation by chained equations: fitted conditionals, imputed cells, means and deviations by sweep.");
    m.def(
        "complete_rows",
        [](nb::dict fitted, Array2<const double> cells, Array1<const std::uint64_t> keys, index_t sweeps, index_t donors,
           bool draw, int threads) {
            const std::size_t count = keys.shape(0);
            const FittedChains chains = from_dict(fitted, count);
            require(cells.shape(1) == chains.design.n_categories.size() && donors > 0, "complete_rows",
                    "one column per conditional");
            const std::size_t v = cells.shape(1);
            for (std::size_t k = 0; k < cells.size(); ++k) {
                const double cell = cells.data()[k], categories = chains.design.n_categories[k % v];
                require(cell != cell || categories == 0 || (cell >= 0 && cell < categories), "complete_rows",
                        "cells must be categories of their column");
            }
            std::size_t holes = 0;
            for (std::size_t k = 0; k < cells.size(); ++k) holes += cells.data()[k] != cells.data()[k] ? 1 : 0;
            std::vector<double> values(count * holes);
            ChainOptions options;
            options.sweeps = sweeps;
            options.donors = donors;
            options.draw = draw;
            options.threads = threads;
            without_gil([&] { prepare::complete_rows(chains, view(cells), view(keys), options, values.data()); });
            return own(std::move(values), count, holes);
        },
        "fitted"_a, "cells"_a.noconvert(), "keys"_a, "sweeps"_a, "donors"_a, "draw"_a, "threads"_a,
        "Complete other rows by fitted chains: draws, or means and most probable categories.");
}

}  // namespace assay::bindings
