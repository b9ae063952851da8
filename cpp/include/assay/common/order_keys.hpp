// Doubles as unsigned integers of the same order: a <= b exactly if to_key(a) <= to_key(b). The sign bit of the IEEE 754
// pattern is turned for numbers from 0 up, all bits for those below; -0 and 0 are one value. NaN is not passed.
#pragma once

#include <bit>
#include <cstdint>

namespace assay {

inline std::uint64_t to_key(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
    return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
inline double to_value(std::uint64_t key) {
    return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

}  // namespace assay
