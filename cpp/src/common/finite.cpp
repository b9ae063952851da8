#include "assay/common/finite.hpp"

#include <bit>
#include <cstdint>

#include "assay/common/simd.hpp"

namespace assay {
namespace {

ASSAY_INLINE bool all_finite_body(const double* values, index_t count) {
    constexpr std::uint64_t exponent = std::uint64_t{0x7FF} << 52;
    constexpr index_t block = 1024;  // after which a number that is not finite ends the search
    for (index_t begin = 0; begin < count; begin += block) {
        const index_t end = begin + block < count ? begin + block : count;
        std::uint64_t wrong = 0;
        for (index_t i = begin; i < end; ++i)
            wrong |= (std::bit_cast<std::uint64_t>(values[i]) & exponent) == exponent ? 1 : 0;
        if (wrong != 0) return false;
    }
    return true;
}
ASSAY_DISPATCH(bool, all_finite_dispatch, all_finite_body, (const double* values, index_t count), (values, count))

}  // namespace

bool all_finite(const double* values, index_t count) { return all_finite_dispatch(values, count); }

}  // namespace assay
