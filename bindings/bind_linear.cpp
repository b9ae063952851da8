#include "bindings.hpp"

namespace assay::bindings {

void bind_linear(nb::module_& m) { (void)m; }

}  // namespace assay::bindings
