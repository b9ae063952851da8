// Ground: instruction set, threads, interrupts, BLAS routines, random numbers.
#include <Python.h>

#include "assay/common/blas.hpp"
#include "assay/common/memory.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/common/threads.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

// Takes the lock and lets Python run its signal handlers; true if one of them raised (KeyboardInterrupt stays set).
bool signals_pending() {
    const PyGILState_STATE state = take_lock([] { return PyGILState_Ensure(); });
    const bool pending = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return pending;
}

const char* const level_names[] = {"baseline", "avx2", "avx512"};

void load_blas() {
    for (const char* module_name : {"scipy.linalg.cython_blas", "scipy.linalg.cython_lapack"}) {
        nb::dict capsules = nb::module_::import_(module_name).attr("__pyx_capi__");
        for (const char* const* name = blas_routine_names(); *name != nullptr; ++name) {
            if (!capsules.contains(*name)) continue;
            nb::object capsule = capsules[*name];
            set_blas_routine(*name, PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
        }
    }
}

}  // namespace

void bind_common(nb::module_& m) {
    set_interrupt_probe(&signals_pending);
    m.def("max_threads", &max_threads, "Threads that OpenMP may use now; 1 in a child forked after threads were used.");
    m.def("trim_memory", [] { without_gil([] { trim_memory(); }); },
          "Give memory that was freed back to the system, where the C library can.");
    m.def("simd_level", [] { return level_names[static_cast<int>(simd_level())]; },
          "The instruction set in use: 'baseline', 'avx2' or 'avx512'.");
    m.def(
        "set_simd_level",
        [](const std::string& name) {
            for (int i = 0; i < 3; ++i)
                if (name == level_names[i]) return level_names[static_cast<int>(set_simd_level(static_cast<Simd>(i)))];
            throw std::invalid_argument("set_simd_level: must be 'baseline', 'avx2' or 'avx512'");
        },
        "level"_a, "Use at most this instruction set; returns the level in force.");
    m.def("load_blas", &load_blas, "Take BLAS and LAPACK routines from SciPy; called once before the first use.");
    m.def("blas_ready", &blas_ready, "Whether the BLAS and LAPACK routines are loaded.");
    m.def(
        "random_uniform",
        [](std::uint64_t key, std::uint64_t stream, std::size_t size) {
            std::vector<double> values(size);
            Random random(key, stream);
            for (double& value : values) value = random.uniform();
            return own(std::move(values));
        },
        "key"_a, "stream"_a, "size"_a, "Uniform numbers in [0, 1) from one Philox stream.");
}

}  // namespace assay::bindings
