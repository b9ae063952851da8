#include "assay/common/simd.hpp"

#include <atomic>

namespace assay {

Simd simd_supported() {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("x86-64-v4")) return Simd::avx512;
    if (__builtin_cpu_supports("x86-64-v3")) return Simd::avx2;
#endif
    return Simd::baseline;
}

namespace {
std::atomic<int>& level() {
    static std::atomic<int> current{static_cast<int>(simd_supported())};
    return current;
}
}  // namespace

Simd simd_level() { return static_cast<Simd>(level().load(std::memory_order_relaxed)); }

Simd set_simd_level(Simd to) {
    const int allowed = static_cast<int>(simd_supported());
    level().store(static_cast<int>(to) < allowed ? static_cast<int>(to) : allowed);
    return simd_level();
}

}  // namespace assay
