// Memory that was freed and not given back.
#pragma once

namespace assay {

// Gives the pages between what is still held by malloc back to the system, where its library can (glibc). Some milliseconds:
// for the end of work that held many times what it leaves.
void trim_memory();

}  // namespace assay
