// A test harness of one page: TEST("claim") { CHECK(condition); CHECK_NEAR(a, b, tolerance); }
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace check {

struct Case {
    std::string claim;
    std::function<void()> body;
};

std::vector<Case>& cases();
void fail(const char* file, int line, const std::string& what);

struct Register {
    Register(const char* claim, std::function<void()> body) { cases().push_back({claim, std::move(body)}); }
};

}  // namespace check

#define ASSAY_JOIN2(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN2(a, b)
#define TEST(claim)                                                                                  \
    static void ASSAY_JOIN(test_body_, __LINE__)();                                                  \
    static const ::check::Register ASSAY_JOIN(test_case_, __LINE__)(claim, &ASSAY_JOIN(test_body_, __LINE__)); \
    static void ASSAY_JOIN(test_body_, __LINE__)()
#define CHECK(condition) \
    do { if (!(condition)) ::check::fail(__FILE__, __LINE__, #condition); } while (false)
#define CHECK_NEAR(a, b, tolerance)                                                       \
    do {                                                                                  \
        const double left_ = (a), right_ = (b);                                           \
        if (!(std::abs(left_ - right_) <= (tolerance)))                                   \
            ::check::fail(__FILE__, __LINE__, std::string(#a " ~ " #b ": ") + std::to_string(left_) + " vs " + \
                                                  std::to_string(right_));                \
    } while (false)
