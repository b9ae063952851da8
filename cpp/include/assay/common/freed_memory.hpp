// Memory that was freed but is still held by the allocator goes back to the system: where threads have freed large buffers of
// their own, other threads cannot use them, and what follows would be added to them at the peak.
#pragma once

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "assay/common/views.hpp"

namespace assay {

// After work on so many cells; where they are few there is nothing to gain.
inline void return_freed_memory([[maybe_unused]] index_t cells) {
#ifdef __GLIBC__
    if (cells >= index_t{1} << 22) malloc_trim(0);
#endif
}

}  // namespace assay
