#include "bindings.hpp"

namespace assay::bindings {

void bind_neighbours(nb::module_& m) { (void)m; }

}  // namespace assay::bindings
