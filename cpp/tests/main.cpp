#include <cstdio>

#include "check.hpp"

namespace check {
namespace {
int failures = 0;
}

std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

void fail(const char* file, int line, const std::string& what) {
    ++failures;
    std::printf("  FAILED %s:%d %s\n", file, line, what.c_str());
}

}  // namespace check

int main() {
    int passed = 0, failed = 0;
    for (const auto& test : check::cases()) {
        const int before = check::failures;
        test.body();
        const bool good = check::failures == before;
        good ? ++passed : ++failed;
        if (!good) std::printf("not ok: %s\n", test.claim.c_str());
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
