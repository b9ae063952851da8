#include "assay/common/memory.hpp"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace assay {

void trim_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace assay
