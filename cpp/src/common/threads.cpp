#include "assay/common/threads.hpp"

#include <pthread.h>

#include <atomic>

namespace assay {
namespace {

std::atomic<bool> team_started{false};
std::atomic<bool> team_lost{false};

void in_child() {
    if (team_started.load(std::memory_order_relaxed)) team_lost.store(true, std::memory_order_relaxed);
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, in_child);

}  // namespace

int team_size(int threads) {
    if (threads <= 1 || team_lost.load(std::memory_order_relaxed)) return 1;
    team_started.store(true, std::memory_order_relaxed);
    return threads;
}

int max_threads() { return team_lost.load(std::memory_order_relaxed) ? 1 : omp_get_max_threads(); }

}  // namespace assay
