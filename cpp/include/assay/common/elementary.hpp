// exp, log and log1p as straight-line arithmetic, so that a loop over them becomes vector code for every instruction set.
//
// exp:   x = n ln2 + r with |r| <= ln2/2 (n by adding and subtracting 1.5 * 2^52, ln2 in two parts), Taylor series of
//        exp(r) to degree 13 (remainder below 5e-18), and 2^n applied as two factors so that results below the normal
//        range and above the largest double come out right. Error below 1.5 ulp; exp(-inf) = 0, exp(inf) = inf.
// log1p: for u in [0, 1]: u or (u - 1) / 2 is brought below sqrt(2) - 1, then log1p(v) = 2 atanh(v / (2 + v)) by the odd
//        series to s^21 (s <= .172, remainder below 1e-17). Error below 2 ulp.
// log:   x = m 2^e with m in [sqrt(1/2), sqrt(2)), log(m) = 2 atanh((m - 1) / (m + 1)) by the same series. Error below
//        2 ulp (relative to max(|log x|, |log m|)).
// In float32 exp is the same with the series to degree 7 (remainder below 6e-9); below -87 it is 0.
// Reference: Muller, Elementary Functions, 3rd ed., 2016, ch. 3 and 11.
#pragma once

#include <bit>
#include <cstdint>

#include "assay/common/simd.hpp"

namespace assay {

// 2^n for a whole number |n| <= 1022 held in a double.
ASSAY_INLINE double power_of_two(double n) {
    constexpr double shifter = 6755399441055744.0;  // 1.5 * 2^52: the low bits of (shifter + n) hold n
    const auto bits = std::bit_cast<std::uint64_t>(n + (shifter + 1023.0));
    return std::bit_cast<double>(bits << 52);
}

ASSAY_INLINE double fast_exp(double x) {
    constexpr double shifter = 6755399441055744.0;
    constexpr double log2_e = 1.4426950408889634074;
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    x = x < -746.0 ? -746.0 : x;
    x = x > 710.0 ? 710.0 : x;
    const double n = (x * log2_e + shifter) - shifter;
    const double r = (x - n * ln2_high) - n * ln2_low;
    double tail = 1.0 / 6227020800.0;
    tail = tail * r + 1.0 / 479001600.0;
    tail = tail * r + 1.0 / 39916800.0;
    tail = tail * r + 1.0 / 3628800.0;
    tail = tail * r + 1.0 / 362880.0;
    tail = tail * r + 1.0 / 40320.0;
    tail = tail * r + 1.0 / 5040.0;
    tail = tail * r + 1.0 / 720.0;
    tail = tail * r + 1.0 / 120.0;
    tail = tail * r + 1.0 / 24.0;
    tail = tail * r + 1.0 / 6.0;
    tail = tail * r + 0.5;
    tail = tail * r * r + r;
    const double half = (n * 0.5 + shifter) - shifter;
    return (1.0 + tail) * power_of_two(half) * power_of_two(n - half);
}

ASSAY_INLINE float fast_exp(float x) {
    constexpr float shifter = 12582912.0F;  // 1.5 * 2^23
    const bool below = x < -87.0F;
    x = below ? -87.0F : x;
    x = x > 88.0F ? 88.0F : x;
    const float n = (x * 1.44269504F + shifter) - shifter;
    const float r = (x - n * 0.693145752F) - n * 1.42860677e-6F;
    float tail = 1.0F / 5040.0F;
    tail = tail * r + 1.0F / 720.0F;
    tail = tail * r + 1.0F / 120.0F;
    tail = tail * r + 1.0F / 24.0F;
    tail = tail * r + 1.0F / 6.0F;
    tail = tail * r + 0.5F;
    tail = tail * r * r + r;
    const auto bits = std::bit_cast<std::uint32_t>(n + (shifter + 127.0F));
    const float value = (1.0F + tail) * std::bit_cast<float>(bits << 23);
    return below ? 0.0F : value;
}

// log((1 + s) / (1 - s)) for |s| <= 0.172, by its series.
ASSAY_INLINE double log_of_ratio(double s) {
    const double q = s * s;
    double series = 2.0 / 21.0;
    series = series * q + 2.0 / 19.0;
    series = series * q + 2.0 / 17.0;
    series = series * q + 2.0 / 15.0;
    series = series * q + 2.0 / 13.0;
    series = series * q + 2.0 / 11.0;
    series = series * q + 2.0 / 9.0;
    series = series * q + 2.0 / 7.0;
    series = series * q + 2.0 / 5.0;
    series = series * q + 2.0 / 3.0;
    return series * q * s + 2.0 * s;
}

// log(1 + u) for 0 <= u <= 1.
ASSAY_INLINE double log1p_unit(double u) {
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const bool upper = u > 0.41421356237309503;
    const double s = upper ? (u - 1.0) / (u + 3.0) : u / (u + 2.0);
    const double rest = log_of_ratio(s);
    return upper ? ln2_high + (rest + ln2_low) : rest;
}

// log(x) for positive normal x.
ASSAY_INLINE double fast_log(double x) {
    constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    // The exponent field as a double, by the bits of 2^52 + field.
    double exponent = std::bit_cast<double>((bits >> 52) | 0x4330000000000000ULL) - (4503599627370496.0 + 1023.0);
    double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
    const bool upper = m > 1.4142135623730951;
    m = upper ? 0.5 * m : m;
    exponent = upper ? exponent + 1.0 : exponent;
    const double s = (m - 1.0) / (m + 1.0);
    return exponent * ln2_high + (log_of_ratio(s) + exponent * ln2_low);
}

}  // namespace assay
