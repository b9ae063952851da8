#include "assay/common/own_pages.hpp"
#include "assay/linear/elastic_net.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "check.hpp"

using namespace assay;

namespace {

// A small table by column, with its moments computed the plain way.
struct Table {
    index_t n, p, stride;
    std::vector<double> columns, target, weights, gram, cross, ones;
    double y_squares = 0;

    Table(index_t n_, index_t p_) : n(n_), p(p_), stride((n_ + 7) / 8 * 8) {
        Random random(5);
        columns.assign(static_cast<std::size_t>(p * stride), 0.0);
        target.assign(static_cast<std::size_t>(stride), 0.0);
        weights.assign(static_cast<std::size_t>(stride), 0.0);
        ones.assign(static_cast<std::size_t>(p), 1.0);
        for (index_t i = 0; i < n; ++i) {
            weights[static_cast<std::size_t>(i)] = 1.0 + static_cast<double>(random.below(3));
            const double shared = random.normal();
            for (index_t j = 0; j < p; ++j) at(i, j) = random.normal() + 0.5 * shared;
            target[static_cast<std::size_t>(i)] = at(i, 0) - 2.0 * at(i, 1) + 0.1 * random.normal();
        }
        measure();
    }
    void measure() {
        double total = 0;
        y_squares = 0;
        for (double w : weights) total += w;
        gram.assign(static_cast<std::size_t>(p * p), 0.0);
        cross.assign(static_cast<std::size_t>(p), 0.0);
        for (index_t i = 0; i < n; ++i) {
            const double w = weights[static_cast<std::size_t>(i)] / total, y = target[static_cast<std::size_t>(i)];
            y_squares += w * y * y;
            for (index_t j = 0; j < p; ++j) {
                cross[static_cast<std::size_t>(j)] += w * y * at(i, j);
                for (index_t k = 0; k < p; ++k) gram[static_cast<std::size_t>(j * p + k)] += w * at(i, j) * at(i, k);
            }
        }
    }
    double& at(index_t i, index_t j) { return columns[static_cast<std::size_t>(j * stride + i)]; }

    ElasticNetTask task(const std::vector<double>& alphas, double l1_ratio, bool positive, bool refine) const {
        return {alphas.data(), static_cast<index_t>(alphas.size()), l1_ratio, ones.data(), positive, 1e-10, 10000,
                refine,        true};
    }
    ElasticNetSolution by_columns(const ElasticNetTask& task, int threads) const {
        std::vector<double> x_mean(static_cast<std::size_t>(p)), y_mean(1);
        return elastic_net_from_columns({columns.data(), target.data(), p, stride}, weights.data(), 1, false, nullptr,
                                        task, x_mean.data(), y_mean.data(), threads);
    }
    ElasticNetSolution by_moments(const ElasticNetTask& task) const {
        return elastic_net_from_moments({{gram.data(), cross.data(), y_squares}}, p, nullptr, task, 1);
    }
    // Largest breach of the optimality conditions.
    double breach(const double* b, double l1, double l2, bool positive) const {
        double worst = 0;
        for (index_t j = 0; j < p; ++j) {
            double g = cross[static_cast<std::size_t>(j)] - l2 * b[j];
            for (index_t k = 0; k < p; ++k) g -= gram[static_cast<std::size_t>(j * p + k)] * b[k];
            if (b[j] != 0) worst = std::max(worst, std::abs(g - std::copysign(l1, b[j])));
            else worst = std::max(worst, (positive ? g : std::abs(g)) - l1);
        }
        return worst;
    }
};

const std::vector<double> alphas{1.0, 0.3, 0.1, 0.03, 0.01, 0.001};

}  // namespace

TEST("elastic net: optimality conditions hold to rounding from columns and from moments, at every level") {
    const Simd best = simd_supported();
    for (int level = 0; level <= static_cast<int>(best); ++level) {
        set_simd_level(static_cast<Simd>(level));
        for (index_t p : {7, 60}) {
            const Table table(37, p);
            for (bool positive : {false, true})
                for (double ratio : {1.0, 0.4}) {
                    const ElasticNetTask task = table.task(alphas, ratio, positive, true);
                    for (const ElasticNetSolution& s : {table.by_columns(task, 1), table.by_moments(task)})
                        for (std::size_t a = 0; a < alphas.size(); ++a) {
                            const std::vector<double> all = s.coefficients(p);
                            const double* b = all.data() + a * static_cast<std::size_t>(p);
                            CHECK(table.breach(b, alphas[a] * ratio, alphas[a] * (1 - ratio), positive) < 1e-10);
                            CHECK(s.gaps[a] <= 1e-10 * table.y_squares);
                            if (positive) CHECK(*std::min_element(b, b + p) >= 0.0);
                        }
                }
        }
    }
    set_simd_level(best);
}

namespace {

// The objective from the table itself in long double, so that what is compared is the coefficients and not the sum.
long double objective(Table& table, const double* b, double l1, double l2) {
    long double total = 0, squares = 0, size = 0;
    for (double w : table.weights) total += w;
    for (index_t i = 0; i < table.n; ++i) {
        long double r = table.target[static_cast<std::size_t>(i)];
        for (index_t j = 0; j < table.p; ++j) r -= static_cast<long double>(b[j]) * table.at(i, j);
        squares += table.weights[static_cast<std::size_t>(i)] * r * r;
    }
    for (index_t j = 0; j < table.p; ++j)
        size += l1 * std::abs(static_cast<long double>(b[j])) + 0.5L * l2 * b[j] * b[j];
    return 0.5L * squares / total + size;
}

}  // namespace

TEST("elastic net: the objective never rises, from step to step") {
    // A fit that may take k sweeps has what one that may take k + 1 has before the last. Its rounding moves a
    // coefficient off the minimum by so little that the objective, flat there, feels the square of it.
    for (index_t p : {60, 140}) {
        Table table(p == 60 ? 40 : 160, p);
        for (double alpha : {0.1, 0.01, 0.001}) {
            const std::vector<double> one{alpha};
            ElasticNetTask task = table.task(one, 0.9, false, false);
            long double last[2] = {table.y_squares, table.y_squares};
            for (index_t most = 1; most < 60; ++most) {
                task.max_sweeps = most;
                const ElasticNetSolution found[2] = {table.by_moments(task), table.by_columns(task, 1)};
                for (int way : {0, 1}) {
                    if (way == 1 && p == 60) continue;  // by a path of larger penalties, each of which has its sweeps
                    const long double value = objective(table, found[way].coefficients(table.p).data(), 0.9 * alpha, 0.1 * alpha);
                    CHECK(value <= last[way] + 1e-18L * table.y_squares);
                    last[way] = value;
                }
            }
        }
    }
}

TEST("elastic net: the objective that is recorded falls but for the rounding of its sum") {
    const Table table(40, 60);
    for (bool refine : {false, true}) {
        const ElasticNetSolution s = table.by_columns(table.task(alphas, 0.9, false, refine), 1);
        CHECK(s.objective.size() > alphas.size());
        // y'y less sum b (c + g): 60 terms no larger together than 2 y'y, each rounded twice and added in turn.
        const double rounding = 3 * 62 * 0x1p-53 * table.y_squares;
        for (std::size_t k = 1; k < s.objective.size(); ++k)
            if (s.traced[k] == s.traced[k - 1]) CHECK(s.objective[k] <= s.objective[k - 1] + rounding);
    }
}

TEST("elastic net: many active columns of a long table meet the bound of their gap, on any number of threads") {
    const Simd best = simd_supported();
    Table table(700, 300);
    for (index_t i = 0; i < table.n; ++i)
        for (index_t j = 0; j < table.p; ++j)
            table.target[static_cast<std::size_t>(i)] += 0.3 * table.at(i, j) * (j % 2 ? 1 : -1);
    table.measure();
    table.ones[5] = INFINITY;
    table.ones[6] = 3;
    for (bool positive : {false, true})
        for (double ratio : {1.0, 0.6}) {
            const std::vector<double> one{0.01};
            const ElasticNetTask exact = table.task(one, ratio, positive, true);
            const ElasticNetSolution truth = table.by_moments(exact);
            for (int level = 0; level <= static_cast<int>(best); ++level) {
                set_simd_level(static_cast<Simd>(level));
                for (double tolerance : {1e-3, 1e-6}) {
                    ElasticNetTask task = exact;
                    task.tolerance = tolerance;
                    const ElasticNetSolution found = table.by_columns(task, 1), threaded = table.by_columns(task, 3);
                    CHECK(found.coefficients(table.p) == threaded.coefficients(table.p) && found.gaps == threaded.gaps);
                    CHECK(found.gaps[0] <= tolerance * table.y_squares);
                    const std::vector<double> all = found.coefficients(table.p);
                    CHECK(all[5] == 0);
                    if (positive) CHECK(*std::min_element(all.begin(), all.end()) >= 0);
                    const auto value = [&](const ElasticNetSolution& s) {
                        std::vector<double> b = s.coefficients(table.p);
                        const double extra = 2 * 0.01 * (ratio * std::abs(b[6]) + 0.5 * (1 - ratio) * b[6] * b[6]);
                        return static_cast<double>(objective(table, b.data(), 0.01 * ratio, 0.01 * (1 - ratio))) + extra;
                    };
                    CHECK(value(found) - value(truth) <= found.gaps[0] + 1e-12 * table.y_squares);
                    CHECK(value(found) - value(truth) >= -1e-9 * table.y_squares);
                }
            }
            set_simd_level(best);
        }
}

TEST("elastic net: a problem is the same alone, in company and on any number of threads") {
    Table table(50, 90);
    std::vector<double> both = table.weights, means(180), y_means(2);
    both.insert(both.end(), table.weights.begin(), table.weights.end());
    for (index_t i = 0; i < 10; ++i) both[static_cast<std::size_t>(table.stride + i)] = 0.0;
    const ElasticNetTask task = table.task(alphas, 1.0, false, false);
    const ElasticNetSolution alone = table.by_columns(task, 1);
    for (int threads : {1, 3}) {
        const ElasticNetSolution together =
            elastic_net_from_columns({table.columns.data(), table.target.data(), table.p, table.stride}, both.data(), 2,
                                     false, nullptr, task, means.data(), y_means.data(), threads);
        const std::vector<double> one = alone.coefficients(table.p), two = together.coefficients(table.p);
        CHECK(std::equal(one.begin(), one.end(), two.begin()));
    }
}

TEST("elastic net: cells gathered from rows give the bits of columns, with few rows, many rows and short last blocks") {
    for (const index_t n : {21, 64, 90}) {
        Table table(n, 50);
        const auto width = static_cast<std::size_t>(table.p), tall = static_cast<std::size_t>(table.stride);
        std::vector<double> rows(static_cast<std::size_t>(n) * width), shift(width), columns(table.columns);
        for (std::size_t j = 0; j < width; ++j) {
            shift[j] = 0.25 * static_cast<double>(j);
            for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                rows[i * width + j] = table.columns[j * tall + i] + shift[j];
                columns[j * tall + i] = rows[i * width + j] - shift[j];
            }
        }
        const ColumnTable by_column{columns.data(), table.target.data(), table.p, table.stride};
        const ColumnTable by_row{nullptr,      table.target.data(), table.p, table.stride,
                                 c_matrix<const double>(rows.data(), n, table.p), shift.data()};
        const std::vector<double> path{0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01}, one{0.01};
        for (const auto& alphas : {path, one})
            for (const double tolerance : {1e-4, 1e-9})
                for (const bool refine : {false, true}) {
                    ElasticNetTask task = table.task(alphas, 1.0, false, refine);
                    task.tolerance = tolerance;
                    const auto solve = [&](const ColumnTable& given, int threads) {
                        std::vector<double> x_mean(width), y_mean(1);
                        return elastic_net_from_columns(given, table.weights.data(), 1, true, nullptr, task, x_mean.data(),
                                                        y_mean.data(), threads);
                    };
                    const ElasticNetSolution expected = solve(by_column, 1);
                    for (int threads : {1, 3}) {
                        const ElasticNetSolution found = solve(by_row, threads);
                        CHECK(found.coefficients(table.p) == expected.coefficients(table.p));
                        CHECK(found.gaps == expected.gaps);
                    }
                }
    }
}

TEST("pages of one's own: cells stay as an array grows past a mapping and shrinks again") {
    OwnPages<float> cells(10);
    for (std::size_t i = 0; i < 10; ++i) cells[i] = static_cast<float>(i);
    for (const std::size_t count : {std::size_t{100}, std::size_t{1} << 17, std::size_t{1} << 20, std::size_t{1} << 16, std::size_t{10}}) {
        cells.resize(count);
        cells[count - 1] = 9.0f;
        for (std::size_t i = 0; i < 9; ++i) CHECK(cells[i] == static_cast<float>(i));
    }
    OwnPages<float> other(std::move(cells));
    CHECK(other[8] == 8.0f && other[9] == 9.0f);
    CHECK(cells.get() == nullptr);
}

TEST("elastic net: an infinite penalty weight leaves a column out, and a start does not move the solution") {
    Table table(40, 30);
    table.ones[1] = INFINITY;
    const std::vector<double> one{0.01};
    const ElasticNetTask task = table.task(one, 1.0, false, true);
    const ElasticNetSolution cold = table.by_moments(task);
    CHECK(cold.coefficients(30)[1] == 0.0);
    const std::vector<double> start(30, 0.5);
    const ElasticNetSolution warm =
        elastic_net_from_moments({{table.gram.data(), table.cross.data(), table.y_squares}}, 30, start.data(), task, 1);
    for (std::size_t j = 0; j < 30; ++j) CHECK_NEAR(cold.coefficients(30)[j], warm.coefficients(30)[j], 1e-11);
}

TEST("shifted columns are the table by column, padded with zeros") {
    const std::vector<double> x{1, 2, 3, 4, 5, 6}, shift{1, 1};
    std::vector<double> out(16, -1.0);
    shifted_columns(c_matrix<const double>(x.data(), 3, 2), shift.data(), out.data(), 8, 2);
    CHECK(out[0] == 0 && out[1] == 2 && out[2] == 4 && out[3] == 0 && out[8] == 1 && out[10] == 5 && out[15] == 0);
}

namespace {

// Penalties many enough, and a tolerance loose enough, for the copy of the columns in single precision.
std::vector<double> long_path(double largest) {
    std::vector<double> path;
    for (int k = 0; k < 12; ++k) path.push_back(largest * std::pow(0.6, k));
    return path;
}

ElasticNetTask loosely(const Table& table, const std::vector<double>& path, double tolerance) {
    ElasticNetTask task = table.task(path, 1.0, false, false);
    task.tolerance = tolerance;
    task.trace = false;
    return task;
}

}  // namespace

TEST("elastic net: with passes in single precision the gap is that of double, at every level and scale of columns") {
    // 1,203 rows: more than one sum in single precision, and a last piece that is padded.
    Table plain(1203, 60);
    const Simd best = simd_supported();
    for (double scale : {1.0, 1e-9, 1e9}) {
        Table table = plain;
        for (double& cell : table.columns) cell *= scale;
        for (double& cell : table.gram) cell *= scale * scale;
        for (double& cell : table.cross) cell *= scale;
        const std::vector<double> path = long_path(scale);
        const ElasticNetSolution exact = table.by_moments(table.task(path, 1.0, false, true));
        for (int level = 0; level <= static_cast<int>(best); ++level) {
            set_simd_level(static_cast<Simd>(level));
            const double tolerance = 1e-5;
            const ElasticNetSolution found = table.by_columns(loosely(table, path, tolerance), 1);
            const ElasticNetSolution threaded = table.by_columns(loosely(table, path, tolerance), 3);
            CHECK(found.coefficients(table.p) == threaded.coefficients(table.p));
            for (std::size_t a = 0; a < path.size(); ++a) {
                const auto objective = [&](const ElasticNetSolution& solution) {
                    const std::vector<double> all = solution.coefficients(60);
                    const double* b = all.data() + a * 60;
                    double value = 0.5 * table.y_squares;
                    for (std::size_t j = 0; j < 60; ++j) {
                        value += path[a] * std::abs(b[j]) - table.cross[j] * b[j];
                        for (std::size_t k = 0; k < 60; ++k) value += 0.5 * b[j] * b[k] * table.gram[j * 60 + k];
                    }
                    return value;
                };
                CHECK(found.gaps[a] <= tolerance * table.y_squares);
                CHECK(objective(found) - objective(exact) <= found.gaps[a] + 1e-12 * table.y_squares);
            }
        }
        set_simd_level(best);
    }
}

TEST("elastic net: a long path over columns far from zero meets the exact one, alone and in company") {
    std::vector<double> centred;  // the exact coefficients of the same table around zero
    for (double far : {0.0, 1e5, 1e6, 1e7, 1e8}) {
        Table table(400, 30);
        for (index_t j = 0; j < 30; ++j)
            for (index_t i = 0; i < 400; ++i) table.at(i, j) += far * static_cast<double>(j % 3);
        const std::vector<double> path = long_path(2.0);
        std::vector<double> x_mean(60), y_mean(2), weights(table.weights);
        weights.insert(weights.end(), table.weights.begin(), table.weights.end());
        for (std::size_t i = 0; i < 130; ++i) weights[static_cast<std::size_t>(table.stride) + i] = 0;
        const auto solve = [&](const double* given, index_t problems, const ElasticNetTask& task) {
            return elastic_net_from_columns({table.columns.data(), table.target.data(), 30, table.stride}, given,
                                            problems, true, nullptr, task, x_mean.data(), y_mean.data(), 2);
        };
        const ElasticNetTask loose = loosely(table, path, 1e-5);
        const ElasticNetSolution both = solve(weights.data(), 2, loose);
        const ElasticNetSolution exact = solve(weights.data(), 2, table.task(path, 1.0, false, true));
        const std::vector<double> found = both.coefficients(30), sharp = exact.coefficients(30);
        if (far == 0) centred = sharp;
        for (std::size_t k = 0; k < found.size(); ++k) {
            CHECK_NEAR(found[k], sharp[k], 5e-3);
            CHECK_NEAR(sharp[k], centred[k], 1e-6);
        }
        for (double gap : both.gaps) CHECK(gap <= 1e-5 * table.y_squares);
        // Blocks of Q of such columns in single precision would be noise, and sweeps over noise lead nowhere.
        for (std::int32_t sweeps : both.sweeps) CHECK(sweeps < 30);
        const ElasticNetSolution alone = solve(weights.data() + table.stride, 1, loose);
        const std::vector<double> own = alone.coefficients(30);
        CHECK(std::equal(own.begin(), own.end(), found.begin() + 12 * 30));
    }
}
