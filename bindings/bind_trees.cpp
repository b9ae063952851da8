#include "bindings.hpp"

namespace assay::bindings {

void bind_trees(nb::module_& m) { (void)m; }

}  // namespace assay::bindings
