// BLAS and LAPACK without a second library: the bindings hand over SciPy's own function pointers (the capsules of
// scipy.linalg.cython_blas and cython_lapack) once, by name. Matrices are Fortran-ordered, as LAPACK has them.
#pragma once

#include <string>

namespace assay {

// Called by the bindings for each routine, e.g. ("dpotrf", pointer). Returns false for a name that is not used.
bool set_blas_routine(const std::string& name, void* pointer);
// The names wanted by `set_blas_routine`, null-terminated.
const char* const* blas_routine_names();
bool blas_ready();

namespace blas {

// Thin typed calls. Each needs blas_ready(). Return values are LAPACK's `info`.
void dgemm(char transa, char transb, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
           int ldb, double beta, double* c, int ldc);
void dsyrk(char uplo, char trans, int n, int k, double alpha, const double* a, int lda, double beta, double* c,
           int ldc);
void dtrsm(char side, char uplo, char transa, char diag, int m, int n, double alpha, const double* a, int lda,
           double* b, int ldb);
int dpotrf(char uplo, int n, double* a, int lda);
int dpotrs(char uplo, int n, int nrhs, const double* a, int lda, double* b, int ldb);

}  // namespace blas
}  // namespace assay
