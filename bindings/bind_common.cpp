// Ground: instruction set, threads, interrupts, BLAS routines, random numbers.
#include <Python.h>

#include <optional>

#include <nanobind/stl/optional.h>

#include "assay/common/blas.hpp"
#include "assay/common/cholesky.hpp"
#include "assay/common/finite.hpp"
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
        "all_finite",
        [](const nb::ndarray<const double, nb::c_contig, nb::device::cpu>& values) {
            return all_finite(values.data(), static_cast<index_t>(values.size()));
        },
        "values"_a, "Whether no number is missing or infinite.");
    m.def(
        "scaled_cholesky",
        [](const Array2<const double>& matrix, double lift) -> std::optional<nb::tuple> {
            const std::size_t n = matrix.shape(0);
            require(matrix.shape(1) == n, "scaled_cholesky", "matrix must be square");
            std::vector<double> factor(n * n), scale(n);
            const double condition =
                scaled_cholesky(matrix.data(), static_cast<index_t>(n), lift, factor.data(), scale.data());
            if (condition == 0) return std::nullopt;
            return nb::make_tuple(own(std::move(factor), n, n), own(std::move(scale)), condition);
        },
        "matrix"_a, "lift"_a,
        "(factor, scale, reciprocal condition) of a small matrix plus `lift` on its diagonal, scaled to a diagonal of 1; None "
        "where it is not positive definite.");
    m.def(
        "scaled_solve",
        [](const Array2<const double>& factor, const Array1<const double>& scale, const Array2<const double>& right) {
            const std::size_t n = scale.shape(0), count = right.shape(1);
            require(factor.shape(0) == n && factor.shape(1) == n && right.shape(0) == n, "scaled_solve",
                    "factor must be square, with a row for each of scale and right");
            std::vector<double> out(n * count);
            scaled_solve(factor.data(), scale.data(), static_cast<index_t>(n), right.data(), static_cast<index_t>(count),
                         out.data());
            return own(std::move(out), n, count);
        },
        "factor"_a, "scale"_a, "right"_a, "The solution for each column of `right`, by what `scaled_cholesky` gave.");
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
