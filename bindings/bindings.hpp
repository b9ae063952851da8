// What every binding needs: array types, view makers, and the guard around a kernel call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>

#include "assay/common/interrupt.hpp"
#include "assay/common/views.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace assay::bindings {

// An array whose elements lie where the processor reads them at once; its caster, below, refuses any other.
template <class Base>
struct AlignedArray : Base {
    using Base::Base;
    AlignedArray() = default;
    AlignedArray(const Base& array) : Base(array) {}
};
// C-ordered arrays; nanobind refuses other dtypes and layouts (`noconvert` is set where copies would be costly).
template <class T>
using Array1 = AlignedArray<nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
template <class T>
using Array2 = AlignedArray<nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;
// Arrays that own their memory, to be returned to NumPy.
template <class T>
using Result1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using Result2 = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

template <class T>
Vector<T> view(const Array1<T>& a) {
    return {a.data(), static_cast<index_t>(a.shape(0)), 1};
}
template <class T>
Matrix<T> view(const Array2<T>& a) {
    return {a.data(), static_cast<index_t>(a.shape(0)), static_cast<index_t>(a.shape(1)),
            static_cast<index_t>(a.shape(1)), 1};
}
// Moves a std::vector into a NumPy array without a copy.
template <class T, class Memory>
Result1<T> own(std::vector<T, Memory>&& values) {
    auto* held = new std::vector<T, Memory>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T, Memory>*>(p); });
    return Result1<T>(held->data(), {held->size()}, owner);
}
template <class T>
Result2<T> own(std::vector<T>&& values, std::size_t rows, std::size_t cols) {
    auto* held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Result2<T>(held->data(), {rows, cols}, owner);
}

// Adds vectors to a dict by name, each moved into an array: put(result, "feature", tree.feature, "left", tree.left).
inline void put(nb::dict&) {}
template <class T, class... Rest>
void put(nb::dict& result, const char* name, std::vector<T>& values, Rest&&... rest) {
    result[name] = own(std::move(values));
    put(result, std::forward<Rest>(rest)...);
}

inline void require(bool holds, const char* kernel, const char* rule) {
    if (!holds) throw std::invalid_argument(std::string(kernel) + ": " + rule);
}

// The signal was seen on the thread that probed; another kernel that stopped with it raises its own.
[[noreturn]] inline void raise_interrupt() {
    if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
}

// Takes the interpreter lock. Python before 3.14 unwinds a thread that comes for it while the interpreter ends, which C++ answers by
// aborting the process; here the thread stays where it is until the process has ended, as in later versions of Python.
template <class Take>
auto take_lock(Take take) {
    try {
        return take();
    } catch (...) {
        while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

struct Released {
    PyThreadState* state = PyEval_SaveThread();
    Released() = default;
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() {
        take_lock([&] { PyEval_RestoreThread(state); });
    }
};

// Runs a kernel with the interpreter lock released; a pending Ctrl-C becomes KeyboardInterrupt when it returns.
template <class Kernel>
auto without_gil(Kernel&& kernel) {
    bool stopped = false;
    struct Guard {
        Guard() { begin_interruptible(); }
        ~Guard() { end_interruptible(); }
    };
    if constexpr (std::is_void_v<decltype(kernel())>) {
        {
            Released released;
            Guard guard;
            kernel();
            stopped = interrupted();
        }
        if (stopped) raise_interrupt();
    } else {
        auto result = [&] {
            Released released;
            Guard guard;
            auto value = kernel();
            stopped = interrupted();
            return value;
        }();
        if (stopped) raise_interrupt();
        return result;
    }
}

}  // namespace assay::bindings

namespace nanobind::detail {

template <class Base>
struct type_caster<assay::bindings::AlignedArray<Base>> {
    NB_TYPE_CASTER(assay::bindings::AlignedArray<Base>, make_caster<Base>::Name)

    template <class Flags>
    bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Base> any;
        if (!any.from_python(source, flags, cleanup)) return false;
        const auto address = reinterpret_cast<std::uintptr_t>(any.value.data());
        // An array without elements lies anywhere, and is not read.
        if (any.value.size() != 0 && address % alignof(std::remove_const_t<typename Base::Scalar>) != 0) return false;
        value = assay::bindings::AlignedArray<Base>(any.value);
        return true;
    }
};

}  // namespace nanobind::detail
