// Panels: 16 rows of a table turned, so that one vector instruction treats a column of many rows.
//
// panel[j * 16 + r] is the cell of row r in column j.
#pragma once

#include "assay/common/views.hpp"

namespace assay {

constexpr index_t panel_lanes = 16;
inline index_t panel_count(index_t rows) { return (rows + panel_lanes - 1) / panel_lanes; }

// Rows that are taken as (x - mean) * factor, column by column; null: as they are.
struct Scaling {
    const double* mean = nullptr;
    const double* factor = nullptr;
};

// Copies 16 rows of d columns into one panel; where at most 8 are `used`, the other lanes may keep what they held.
void pack_panel(const double* const* rows, index_t d, double* panel, const Scaling& scaling = {},
                index_t used = panel_lanes);

}  // namespace assay
