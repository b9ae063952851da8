#include "bindings.hpp"

namespace assay::bindings {

void bind_tables(nb::module_& m) { (void)m; }

}  // namespace assay::bindings
