// A table with labels, for tests of trees.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"
#include "assay/tables/coded_columns.hpp"
#include "assay/trees/cart.hpp"

struct Table {
    assay::index_t n, d;
    std::vector<double> cells;
    std::vector<std::int32_t> n_categories, rows, labels;

    // Row numbers 0, 1, ..., and one cell in ten missing if asked.
    void finish(assay::Random& random, bool missing) {
        if (missing)
            for (double& cell : cells)
                if (random.below(10) == 0) cell = std::nan("");
        rows.resize(static_cast<std::size_t>(n));
        std::iota(rows.begin(), rows.end(), 0);
    }

    assay::tables::CodedColumns columns() const {
        return {assay::c_matrix(cells.data(), n, d), n_categories.data()};
    }
    std::vector<assay::tables::Entry> order() const {
        std::vector<assay::tables::Entry> sorted(cells.size());
        assay::tables::sort_columns(columns().cells, {n_categories.data(), d, 1}, sorted.data(), 1);
        return sorted;
    }
    assay::trees::CartTarget target(int n_classes) const {
        assay::trees::CartTarget found;
        found.labels = labels.data();
        found.n_classes = n_classes;
        return found;
    }
};
