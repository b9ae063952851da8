// Whether numbers are finite: one pass over their exponents, without a mask or a sum that could overflow.
#pragma once

#include "assay/common/views.hpp"

namespace assay {

bool all_finite(const double* values, index_t count);

}  // namespace assay
