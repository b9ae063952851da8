// Interrupts: long loops ask `interrupted()` and return early; the binding then raises KeyboardInterrupt. The core
// knows no Python: the bindings install a probe that looks at pending signals, called only on the thread that entered
// the kernel and at most every few milliseconds.
#pragma once

namespace assay {

using InterruptProbe = bool (*)();

void set_interrupt_probe(InterruptProbe probe);

// Between begin and end (one pair per kernel call), `interrupted` may answer true. Nested and concurrent calls are
// counted; the flag clears when the last call ends.
void begin_interruptible();
void end_interruptible();

bool interrupted();

}  // namespace assay
