#include "assay/common/blas.hpp"

#include <atomic>
#include <cstring>

namespace assay {
namespace {

// Fortran signatures: every argument by address.
using Gemm = void (*)(char*, char*, int*, int*, int*, double*, const double*, int*, const double*, int*, double*,
                      double*, int*);
using Syrk = void (*)(char*, char*, int*, int*, double*, const double*, int*, double*, double*, int*);
using Trsm = void (*)(char*, char*, char*, char*, int*, int*, double*, const double*, int*, double*, int*);
using Potrf = void (*)(char*, int*, double*, int*, int*);
using Potrs = void (*)(char*, int*, int*, const double*, int*, double*, int*, int*);

constexpr const char* names[] = {"dgemm", "dsyrk", "dtrsm", "dpotrf", "dpotrs", nullptr};
constexpr int count = 5;
std::atomic<void*> pointers[count];

template <class Routine>
Routine routine(int which) {
    return reinterpret_cast<Routine>(pointers[which].load(std::memory_order_relaxed));
}

}  // namespace

bool set_blas_routine(const std::string& name, void* pointer) {
    for (int i = 0; i < count; ++i) {
        if (name == names[i]) {
            pointers[i].store(pointer);
            return true;
        }
    }
    return false;
}

const char* const* blas_routine_names() { return names; }

bool blas_ready() {
    for (const auto& pointer : pointers)
        if (pointer.load() == nullptr) return false;
    return true;
}

namespace blas {

void dgemm(char transa, char transb, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
           int ldb, double beta, double* c, int ldc) {
    routine<Gemm>(0)(&transa, &transb, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}

void dsyrk(char uplo, char trans, int n, int k, double alpha, const double* a, int lda, double beta, double* c,
           int ldc) {
    routine<Syrk>(1)(&uplo, &trans, &n, &k, &alpha, a, &lda, &beta, c, &ldc);
}

void dtrsm(char side, char uplo, char transa, char diag, int m, int n, double alpha, const double* a, int lda,
           double* b, int ldb) {
    routine<Trsm>(2)(&side, &uplo, &transa, &diag, &m, &n, &alpha, a, &lda, b, &ldb);
}

int dpotrf(char uplo, int n, double* a, int lda) {
    int info = 0;
    routine<Potrf>(3)(&uplo, &n, a, &lda, &info);
    return info;
}

int dpotrs(char uplo, int n, int nrhs, const double* a, int lda, double* b, int ldb) {
    int info = 0;
    routine<Potrs>(4)(&uplo, &n, &nrhs, a, &lda, b, &ldb, &info);
    return info;
}

}  // namespace blas
}  // namespace assay
