// A table with labels, for tests of trees.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/views.hpp"

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
};
