#include "bindings.hpp"

namespace assay::bindings {

void bind_statistics(nb::module_& m) { (void)m; }

}  // namespace assay::bindings
