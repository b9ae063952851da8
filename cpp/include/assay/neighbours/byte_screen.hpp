// Euclidean neighbours screened in bytes: a row is kept as one byte per column, and the products of bytes (AVX-512 VNNI,
// 64 multiply-adds in one instruction) rule out almost every row before any float64 distance is taken. Exact: the rows
// and distances are those of float64 distances (metrics.hpp) sorted by (distance, row number).
//
// Bytes. Rows are moved by a centre (column medians of a sample of rows), scaled by a power of two, and turned by a fixed
// rotation H (random signs and Walsh-Hadamard transforms of the first and the last 2^p columns), which keeps distances
// and spreads a row's length over its columns: neither a column of another size nor an outlying cell spoils the steps of
// the others. A row a is then kept as its own step times whole numbers from -127 to 127:
//     H a = a^ + r,   a^ = step n,   |r| <= e,
// with e, the residual, measured when the row is rounded, and raised for the rounding of H in float32 (at most 2^-17 |a|) and for what
// leaves the range of float32 (2^-50).
//
// Bound. With b^ and f the rounded query and its residual, the triangle inequality gives, for D = |a^ - b^|,
//     D - e - f <= |a - b| <= D + e + f,   D^2 = |a^|^2 + |b^|^2 - 2 step_a step_b <n_a, n_b>.
// Let T be the k-th smallest upper bound seen. A row with D > T + e + f has k rows nearer. With u = T + f the others are
//     (|a^|^2 - e^2) / 2 - step_a step_b <n_a, n_b> - u e  <=  (u^2 - |b^|^2) / 2 + 2^-19 (|b^| + u)^2 + 2^-80,
// where the last terms cover the float32 arithmetic of the left side (residuals are below 0.26 |a^| for 4096 columns or
// fewer, so rows that matter have |a^| <= 1.36 (|b^| + u)) and of the float64 distances, whose error is relative. The
// margin, 2 T (e + f), shrinks with the distance itself. A register tile holds the whole-number products of 12 queries
// and 32 rows; the left side costs four instructions per 16 rows.
//
// At the end the k candidates with the least lower bounds are measured in float64, T becomes the k-th of these distances,
// and only what is still below it is measured. A query is left open where too many candidates stay (ties, neighbours much
// nearer than the step), it is very far away, or the machine has no such instruction: the float32 screen
// (distance_reduce.hpp), made for these queries alone, or a float64 scan answers it.
//
// Shapes: rows n x d, queries m x d, OUT m x k. Cost: m n d byte products, n d bytes and 12 n of memory; bits do not depend
// on threads since each answer is exact.
#pragma once

#include "assay/neighbours/metrics.hpp"

namespace assay::neighbours {

constexpr index_t byte_points = 32;
constexpr index_t most_byte_columns = 4096;
constexpr index_t most_byte_neighbours = 512;

// panels: ceil(n/32) x width/4 x 32 x 4 (each row's numbers plus 128, four columns side by side); the others
// ceil(n/32) x 32: half_norms (|a^|^2 - e^2) / 2, infinity after the last row and for rows beyond the range; steps;
// residuals. centre: d.
struct ByteScreen {
    const std::uint8_t* panels = nullptr;
    const float* half_norms = nullptr;
    const float* steps = nullptr;
    const float* residuals = nullptr;
    const double* centre = nullptr;
    double scale = 1.0;
};
inline index_t byte_panel_count(index_t rows) { return (rows + byte_points - 1) / byte_points; }
inline index_t byte_width(index_t d) { return (d + 3) / 4 * 4; }

// Whether this machine, at the instruction set in force, multiplies bytes.
bool byte_products();

struct ByteArrays {
    std::uint8_t* panels;
    float* half_norms;
    float* steps;
    float* residuals;
    double* centre;
};
// The scale, or 0 if these rows cannot be screened in bytes: their sizes leave the range, byte_products() is false, or
// (only_if_it_pays) bytes do not tell the neighbours of most of 24 rows apart.
double build_byte_screen(Matrix<const double> rows, const ByteArrays& out, bool only_if_it_pays, int threads);

// Returns how many queries bytes left open.
index_t nearest_by_bytes(Matrix<const double> rows, const ByteScreen& screen, Matrix<const double> queries, index_t k,
                         std::int64_t* nearest, double* distances, int threads);

}  // namespace assay::neighbours
