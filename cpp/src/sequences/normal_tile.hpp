// A few rows at a time under k normal distributions: their log densities, and their moments by shares.
//
// Rows of a tile stand dimension by dimension, so that lanes run over rows; what a row gets does not depend on its tile.
#pragma once

#include <vector>

#include "assay/sequences/hmm.hpp"

namespace assay::sequences {

class NormalTile {
public:
    static constexpr index_t rows = 32;

    NormalTile(const Normals& normals, index_t k);

    // Numbers of moments: per component the count, d first moments, and the second ones (d, or d x d lower).
    static index_t moments_of(const Normals& normals, index_t k) {
        const index_t d = normals.rows.cols;
        return k * (1 + d + (normals.diagonal ? d : d * d));
    }

    // Calls write(row of the tile, component, log density) for `count` rows from row `first` of the table.
    template <class Write>
    void logs(index_t first, index_t count, Write&& write) {
        find_logs(first, count);
        for (index_t row = 0; row < count; ++row)
            for (index_t c = 0; c < k_; ++c) write(row, c, by_component_[static_cast<std::size_t>(c * rows + row)]);
    }

    // share(row of the tile, component) of `count` rows, for add_moments.
    template <class Share>
    void set_shares(index_t count, Share&& share) {
        for (index_t c = 0; c < k_; ++c)
            for (index_t row = 0; row < rows; ++row)
                by_component_[static_cast<std::size_t>(c * rows + row)] = row < count ? share(row, c) : 0.0;
    }

    // sums += moments of `count` rows about the means, component by component.
    void add_moments(index_t first, index_t count, double* sums);

private:
    void find_logs(index_t first, index_t count);
    void fill_panel(index_t first, index_t count);

    const Normals& normals_;
    index_t k_;
    std::vector<double> panel_, gaps_, weighted_, by_component_;
};

}  // namespace assay::sequences
