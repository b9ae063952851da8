// Leave-one-out scores of discriminants against the determinant and inverse of the matrix written out.
#include <cmath>
#include <limits>
#include <vector>

#include "assay/bayes/discriminant.hpp"
#include "check.hpp"

using namespace assay;

TEST("leave-one-out scores equal those of the matrix written out") {
    const double y[] = {0.5, -1.0}, w[] = {0.3, 0.4}, e[] = {2.0, 1.0}, spheres[] = {1.5}, shares[] = {0.0, 0.25, 1.0};
    const double c = 0.7;
    double found[3];
    leave_one_out_scores(c_matrix(y, 1, 2), c_matrix(w, 1, 2), e, spheres, c, {shares, 3, 1}, found, 1);
    for (int m = 0; m < 3; ++m) {
        const double keep = 1.0 - shares[m];
        const double a = keep * (e[0] - c * w[0] * w[0]) + shares[m] * spheres[0];
        const double b = -keep * c * w[0] * w[1];
        const double d = keep * (e[1] - c * w[1] * w[1]) + shares[m] * spheres[0];
        const double determinant = a * d - b * b;
        const double form = (d * y[0] * y[0] - 2 * b * y[0] * y[1] + a * y[1] * y[1]) / determinant;
        CHECK_NEAR(found[m], -0.5 * (form + std::log(determinant)), 1e-12);
    }
}

TEST("a matrix that is singular without the row gives minus infinity") {
    const double y[] = {1.0}, w[] = {1.0}, e[] = {1.0}, spheres[] = {1.0}, shares[] = {0.0};
    double found[1];
    leave_one_out_scores(c_matrix(y, 1, 1), c_matrix(w, 1, 1), e, spheres, 1.0, {shares, 1, 1}, found, 1);
    CHECK(found[0] == -std::numeric_limits<double>::infinity());
}
