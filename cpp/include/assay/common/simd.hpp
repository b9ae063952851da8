// One binary, three instruction sets. The body of a hot loop is written once as an always-inlined function; the macro
// compiles it for AVX-512 (x86-64-v4), AVX2 (x86-64-v3) and the baseline, and calls the one that `simd_level()` names.
// The dispatched function is called from inside a parallel loop, never around it: compilers do not carry target
// attributes into OpenMP outlined code. Chosen over `target_clones` because the level can be lowered at run time, so
// tests reach every path on one machine, and because sanitizers and indirect functions do not mix.
//
//   ASSAY_INLINE double dot_body(const double* x, const double* y, index_t n) { ... }
//   ASSAY_DISPATCH(double, dot, dot_body, (const double* x, const double* y, index_t n), (x, y, n))
#pragma once

namespace assay {

enum class Simd : int { baseline = 0, avx2 = 1, avx512 = 2 };

Simd simd_supported();         // what this machine can run
Simd simd_level();             // what the kernels use now: the machine's best unless lowered
Simd set_simd_level(Simd to);  // lower (or restore) the level; returns the level in force

}  // namespace assay

#define ASSAY_INLINE __attribute__((always_inline)) static inline

// The general form calls one function per instruction set, each written in parentheses: (body<16>), (body<8>), (body<4>).
#if defined(__x86_64__) && defined(__GNUC__)
#define ASSAY_DISPATCH_EACH(result, name, widest, wide, plain, parameters, arguments)                             \
    __attribute__((target("arch=x86-64-v4"))) static result name##_avx512 parameters { return widest arguments; } \
    __attribute__((target("arch=x86-64-v3"))) static result name##_avx2 parameters { return wide arguments; }     \
    static result name##_baseline parameters { return plain arguments; }                                          \
    static inline result name parameters {                                                                        \
        switch (::assay::simd_level()) {                                                                          \
            case ::assay::Simd::avx512: return name##_avx512 arguments;                                           \
            case ::assay::Simd::avx2: return name##_avx2 arguments;                                               \
            default: return name##_baseline arguments;                                                            \
        }                                                                                                         \
    }
#else
#define ASSAY_DISPATCH_EACH(result, name, widest, wide, plain, parameters, arguments) \
    static inline result name parameters { return plain arguments; }
#endif
#define ASSAY_DISPATCH(result, name, body, parameters, arguments) \
    ASSAY_DISPATCH_EACH(result, name, body, body, body, parameters, arguments)
