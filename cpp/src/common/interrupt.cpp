#include "assay/common/interrupt.hpp"

#include <atomic>
#include <chrono>

namespace assay {
namespace {

std::atomic<InterruptProbe> installed_probe{nullptr};
std::atomic<int> running{0};
std::atomic<bool> raised{false};
thread_local int depth = 0;
thread_local std::chrono::steady_clock::time_point last_look{};

}  // namespace

void set_interrupt_probe(InterruptProbe probe) { installed_probe.store(probe); }

void begin_interruptible() {
    running.fetch_add(1);
    ++depth;
    last_look = std::chrono::steady_clock::now();
}

void end_interruptible() {
    --depth;
    if (running.fetch_sub(1) == 1) raised.store(false);
}

bool interrupted() {
    if (raised.load(std::memory_order_relaxed)) return true;
    if (depth == 0) return false;
    const InterruptProbe probe = installed_probe.load(std::memory_order_relaxed);
    if (probe == nullptr) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look < std::chrono::milliseconds(20)) return false;
    last_look = now;
    if (!probe()) return false;
    raised.store(true);
    return true;
}

}  // namespace assay
