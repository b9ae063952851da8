#include <limits>
#include <vector>

#include "assay/bayes/naive_bayes.hpp"
#include "assay/common/random.hpp"
#include "assay/common/simd.hpp"
#include "assay/statistics/class_moments.hpp"
#include "assay/statistics/fold_sums.hpp"
#include "assay/statistics/gap_sums.hpp"
#include "assay/statistics/gram.hpp"
#include "check.hpp"

using namespace assay;

namespace {

std::vector<double> normals(index_t count, std::uint64_t key, double offset = 0) {
    Random random(key);
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& value : out) value = offset + random.normal();
    return out;
}

std::vector<double> plain_gram(const std::vector<double>& x, index_t p, const std::vector<double>& y, index_t q,
                               const std::vector<double>& weights, const std::vector<std::int64_t>& rows,
                               const std::vector<double>& shift) {
    const index_t d = p + q + 1;
    std::vector<double> out(static_cast<std::size_t>(d * d), 0.0), z(static_cast<std::size_t>(d), 1.0);
    for (std::int64_t i : rows) {
        for (index_t j = 0; j < p; ++j) z[j] = x[i * p + j] - shift[j];
        for (index_t j = 0; j < q; ++j) z[p + j] = y[i * q + j] - shift[p + j];
        for (index_t a = 0; a < d; ++a)
            for (index_t b = 0; b < d; ++b) out[a * d + b] += weights[i] * z[a] * z[b];
    }
    return out;
}

struct Setting {
    index_t n, p, q;
};

}  // namespace

TEST("the Gram matrix equals the plain sum, narrow and wide, at every instruction set") {
    const Simd best = simd_supported();
    for (const Setting s : {Setting{1, 1, 1}, Setting{300, 15, 1}, Setting{5000, 7, 2}, Setting{200, 300, 3}}) {
        const auto x = normals(s.n * s.p, 1, 5.0), y = normals(s.n * s.q, 2);
        auto weights = normals(s.n, 3);
        for (double& w : weights) w *= w;
        std::vector<double> shift(static_cast<std::size_t>(s.p + s.q), 4.5);
        std::vector<std::int64_t> rows;
        for (index_t i = 0; i < s.n; i += s.n > 10 ? 3 : 1) rows.push_back(i);
        const auto expected = plain_gram(x, s.p, y, s.q, weights, rows, shift);
        const index_t d = s.p + s.q + 1;
        for (int level = 0; level <= static_cast<int>(best); ++level) {
            set_simd_level(static_cast<Simd>(level));
            std::vector<double> one(static_cast<std::size_t>(d * d)), three = one;
            const RowSelection selection{rows.data(), static_cast<index_t>(rows.size()), weights.data()};
            weighted_gram(c_matrix(x.data(), s.n, s.p), c_matrix(y.data(), s.n, s.q), selection, shift.data(),
                          one.data(), 1);
            weighted_gram(c_matrix(x.data(), s.n, s.p), c_matrix(y.data(), s.n, s.q), selection, shift.data(),
                          three.data(), 3);
            CHECK(one == three);
            for (std::size_t k = 0; k < one.size(); ++k)
                CHECK_NEAR(one[k], expected[k], 1e-12 * (1 + std::abs(expected[k])) * 50);
        }
        set_simd_level(best);
    }
}

TEST("rows that are made when they are needed give the Gram matrix of the same rows that are there") {
    for (const Setting s : {Setting{1, 3, 1}, Setting{9000, 20, 1}, Setting{300, 800, 2}}) {
        const auto x = normals(s.n * s.p, 41, 1.0), y = normals(s.n * s.q, 42);
        auto weights = normals(s.n, 43);
        for (double& w : weights) w *= w;
        const std::vector<double> shift(static_cast<std::size_t>(s.p + s.q), 0.5);
        const auto make = [&](index_t begin, index_t end, double* to) {
            std::copy(x.begin() + begin * s.p, x.begin() + end * s.p, to);
        };
        const Matrix<const double> rows = c_matrix(x.data(), s.n, s.p), targets = c_matrix(y.data(), s.n, s.q);
        const auto d = static_cast<std::size_t>(s.p + s.q + 1);
        for (const double* w : {static_cast<const double*>(nullptr), static_cast<const double*>(weights.data())}) {
            std::vector<double> there(d * d), made(d * d);
            weighted_gram(rows, targets, {nullptr, s.n, w}, shift.data(), there.data(), 2);
            made_gram(s.p, make, targets, w, shift.data(), made.data(), 2);
            CHECK(there == made);
        }
    }
}

TEST("a shift is the mean over every step-th row, and exactly the value of a column that is constant there") {
    const std::vector<double> x{0.1, 1.0, 7.0, 9.0, 0.1, 3.0, 7.0, 9.0, 0.1, 5.0}, y{2.0, 0.0, 4.0, 0.0, NAN};
    std::vector<double> shift(3);
    central_values(c_matrix(x.data(), 5, 2), c_matrix(y.data(), 5, 1), 2, shift.data());
    CHECK(shift[0] == 0.1);
    CHECK(shift[1] == 3.0);
    CHECK(std::isnan(shift[2]));
}

TEST("moments around the mean are those of the centred rows, whatever the shift was, and a far shift is noticed") {
    const index_t n = 400, p = 3, q = 2, d = p + q + 1;
    const auto x = normals(n * p, 31, 2.0), y = normals(n * q, 32, -1.0);
    const Matrix<const double> rows = c_matrix(x.data(), n, p), targets = c_matrix(y.data(), n, q);
    const std::vector<double> shift{2.0, 2.0, -500.0, -1.0, 0.0};
    std::vector<double> whole(d * d), part(d * d);
    weighted_gram(rows, targets, {nullptr, n, nullptr}, shift.data(), whole.data(), 1);
    std::vector<std::int64_t> rest, out;
    for (index_t i = 0; i < n; ++i) (i < 100 ? out : rest).push_back(i);
    weighted_gram(rows, targets, {out.data(), 100, nullptr}, shift.data(), part.data(), 1);
    bool far[5];
    far_columns(c_matrix<const double>(whole.data(), d, d), shift.data(), far);
    CHECK(!far[0] && !far[1] && far[2] && !far[3] && !far[4]);
    std::vector<double> mean(5, 0.0);
    for (const std::int64_t i : rest)
        for (index_t j = 0; j < p + q; ++j) mean[j] += (j < p ? x[i * p + j] : y[i * q + j - p]) / 300;
    const auto expected = plain_gram(x, p, y, q, std::vector<double>(n, 1.0), rest, mean);
    for (const bool averaged : {false, true}) {
        const auto found = centred_moments(c_matrix<const double>(whole.data(), d, d), part.data(), shift.data(), q, true, averaged);
        const double share = averaged ? 1.0 / 300 : 1.0;
        CHECK_NEAR(found.weight, 300, 1e-9);
        for (index_t j = 0; j < p; ++j) CHECK_NEAR(found.x_mean[j], mean[j], 1e-9);
        for (index_t k = 0; k < q; ++k) CHECK_NEAR(found.y_mean[k], mean[p + k], 1e-9);
        for (index_t i = 0; i < p; ++i) {
            for (index_t j = 0; j < p; ++j) CHECK_NEAR(found.gram[i * p + j], expected[i * d + j] * share, 1e-6 * share * 300);
            for (index_t k = 0; k < q; ++k) CHECK_NEAR(found.cross[i * q + k], expected[i * d + p + k] * share, 1e-6 * share * 300);
        }
        for (index_t k = 0; k < q; ++k)
            CHECK_NEAR(found.y_squares[k], expected[(p + k) * d + p + k] * share, 1e-6 * share * 300);
    }
    const auto plain = centred_moments(c_matrix<const double>(whole.data(), d, d), nullptr, shift.data(), q, false, false);
    CHECK(plain.gram[1] == whole[1] && plain.cross[0] == whole[p] && plain.x_mean[2] == 0.0 && plain.y_mean[1] == 0.0);
}

TEST("Gram matrices of parts add up to the whole") {
    const index_t n = 9000, p = 5;
    const auto x = normals(n * p, 11);
    const std::vector<double> shift(p, 0.1);
    std::vector<std::int64_t> test, train;
    for (index_t i = 0; i < n; ++i) (i % 4 == 0 ? test : train).push_back(i);
    const Matrix<const double> all = c_matrix(x.data(), n, p), none = c_matrix(x.data(), n, 0);
    std::vector<double> whole(36), a(36), b(36);
    weighted_gram(all, none, {nullptr, n, nullptr}, shift.data(), whole.data(), 2);
    weighted_gram(all, none, {test.data(), static_cast<index_t>(test.size()), nullptr}, shift.data(), a.data(), 2);
    weighted_gram(all, none, {train.data(), static_cast<index_t>(train.size()), nullptr}, shift.data(), b.data(), 2);
    for (int k = 0; k < 36; ++k) CHECK_NEAR(whole[k], a[k] + b[k], 1e-9);
}

TEST("the Gram matrices of classes equal those of their rows, whether their blocks fit the cache or not") {
    const index_t n = 20000, p = 6, d = p + 1;
    const auto x = normals(n * p, 21, 3.0);
    auto weights = normals(n, 22);
    for (double& w : weights) w *= w;
    const Matrix<const double> all = c_matrix(x.data(), n, p), none = c_matrix(x.data(), n, 0);
    std::vector<std::int64_t> chosen;
    for (index_t i = 0; i < n; i += i % 5 + 1) chosen.push_back(n - 1 - i);
    for (const index_t classes : {index_t{1}, index_t{3}, index_t{60}}) {
        std::vector<std::int32_t> codes;
        for (index_t i = 0; i < n; ++i) codes.push_back(static_cast<std::int32_t>(i * i % classes));
        const auto shift = normals(classes * p, 23);
        for (const double* w : {static_cast<const double*>(nullptr), static_cast<const double*>(weights.data())}) {
            const RowSelection selection{chosen.data(), static_cast<index_t>(chosen.size()), w};
            std::vector<double> one(static_cast<std::size_t>(classes * d * d)), three = one;
            class_grams(all, codes.data(), classes, selection, shift.data(), one.data(), 1);
            class_grams(all, codes.data(), classes, selection, shift.data(), three.data(), 3);
            CHECK(one == three);
            for (index_t k = 0; k < classes; ++k) {
                std::vector<std::int64_t> mine;
                for (const std::int64_t row : chosen)
                    if (codes[static_cast<std::size_t>(row)] == k) mine.push_back(row);
                std::vector<double> expected(static_cast<std::size_t>(d * d));
                weighted_gram(all, none, {mine.data(), static_cast<index_t>(mine.size()), w}, shift.data() + k * p,
                              expected.data(), 1);
                for (std::size_t c = 0; c < expected.size(); ++c)
                    CHECK_NEAR(one[static_cast<std::size_t>(k * d * d) + c], expected[c], 1e-9 * (1 + std::abs(expected[c])));
            }
        }
    }
}

TEST("class moments skip missing cells and tally categories") {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> x = {1, 0, missing, 1, 3, 2, 5, missing};  // columns: numeric, nominal with 3 categories
    const std::vector<std::int32_t> codes = {0, 1, 0, 0};
    const std::vector<double> weights = {1, 1, 2, 1}, shift = {1, 0};
    const std::int32_t nominal[] = {1}, sizes[] = {3};
    const ClassMoments m = class_moments(c_matrix(x.data(), 4, 2), codes.data(), 2, {nullptr, 4, weights.data()},
                                         shift.data(), {nominal, sizes, 1}, 1);
    CHECK(m.class_weight[0] == 4 && m.class_weight[1] == 1);
    CHECK(m.count[0] == 4 && m.sum[0] == 0 + 2 * 2 + 4 && m.square[0] == 2 * 4 + 16);
    CHECK(m.count[2] == 0 && m.sum[2] == 0);
    CHECK(m.count[1] == 3);
    CHECK(m.tally[0] == 1 && m.tally[1] == 0 && m.tally[2] == 2 && m.tally[4] == 1);
}

TEST("class moments are the same for any number of threads and add over parts") {
    const index_t n = 30000, p = 9;
    auto x = normals(n * p, 21);
    x[static_cast<std::size_t>(p * 20000)] = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n));
    std::vector<std::int64_t> even, odd;
    for (index_t i = 0; i < n; ++i) {
        codes[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 3);
        (i % 2 == 0 ? even : odd).push_back(i);
    }
    const std::vector<double> shift(p, 0.0);
    const Matrix<const double> view = c_matrix(static_cast<const double*>(x.data()), n, p);
    const auto run = [&](const std::vector<std::int64_t>* rows, int threads) {
        const RowSelection selection{rows == nullptr ? nullptr : rows->data(),
                                     rows == nullptr ? n : static_cast<index_t>(rows->size()), nullptr};
        return class_moments(view, codes.data(), 3, selection, shift.data(), {}, threads);
    };
    const ClassMoments one = run(nullptr, 1), four = run(nullptr, 4), a = run(&even, 2), b = run(&odd, 2);
    CHECK(one.sum == four.sum && one.square == four.square && one.count == four.count);
    for (std::size_t k = 0; k < one.sum.size(); ++k) {
        CHECK_NEAR(one.square[k], a.square[k] + b.square[k], 1e-8);
        CHECK(one.count[k] == a.count[k] + b.count[k]);
    }
}

TEST("naive Bayes scores are the sum of the log densities of the present cells") {
    const double missing = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> x = {0.5, 1, 2, missing, 1, 0, 0.5, 7, missing};
    const std::int32_t gaussian[] = {0}, tabled[] = {1}, sizes[] = {2}, proportional[] = {2};
    const double prior[] = {-0.5, -1}, mean[] = {0, 1}, half[] = {0.5, 2}, constant[] = {-1, -0.3};
    const double table[] = {-0.1, -0.2, -0.3, -0.4}, slope[] = {-2, -3};
    const std::uint8_t binary[] = {0};
    const NaiveBayesModel model{2, prior, gaussian, 1, mean, half, constant, proportional, 1, slope,
                                tabled, sizes, binary, 1, table};
    double scores[6];
    naive_bayes_scores(c_matrix(x.data(), 3, 3), model, ClassScores::joint, scores, 1);
    CHECK_NEAR(scores[0], -0.5 - 1 - 0.5 * 0.25 - 0.2 - 4, 1e-15);
    CHECK_NEAR(scores[1], -1 - 0.3 - 2 * 0.25 - 0.4 - 6, 1e-15);
    CHECK_NEAR(scores[2], -0.5 - 0.2, 1e-15);
    CHECK_NEAR(scores[5], -1 - 0.3 - 2 * 0.25, 1e-15);
    naive_bayes_scores(c_matrix(x.data(), 3, 3), model, ClassScores::probability, scores, 2);
    for (int i = 0; i < 3; ++i) CHECK_NEAR(scores[2 * i] + scores[2 * i + 1], 1.0, 1e-15);
    std::int32_t best[3];
    naive_bayes_labels(c_matrix(x.data(), 3, 3), model, best, 1);
    CHECK(best[0] == 0 && best[1] == 0);
}

TEST("quadratic forms equal the double sum, for any number of threads") {
    constexpr index_t d = 21, k = 6;
    double gram[d * d], c[k * d], one[k], three[k];
    for (index_t i = 0; i < d; ++i)
        for (index_t j = 0; j < d; ++j) gram[i * d + j] = 1.0 / static_cast<double>(1 + i + j);
    for (index_t i = 0; i < k * d; ++i) c[i] = i % 3 == 0 ? 0.0 : static_cast<double>(i % 7) - 3;
    quadratic_forms(c_matrix<const double>(gram, d, d), c_matrix<const double>(c, k, d), one, 1);
    quadratic_forms(c_matrix<const double>(gram, d, d), c_matrix<const double>(c, k, d), three, 3);
    for (index_t f = 0; f < k; ++f) {
        double sum = 0;
        for (index_t i = 0; i < d; ++i)
            for (index_t j = 0; j < d; ++j) sum += c[f * d + i] * gram[i * d + j] * c[f * d + j];
        CHECK_NEAR(one[f], sum, 1e-12);
        CHECK(one[f] == three[f]);
    }
}

TEST("gap sums are sums over the rows a column marks, for any number of threads") {
    const index_t n = 333, p = 45;
    Random random(9);
    std::vector<double> z(static_cast<std::size_t>(n * p));
    std::vector<std::uint8_t> marks(z.size());
    for (auto& cell : z) cell = random.normal();
    for (auto& mark : marks) mark = random.below(5) == 0;
    const auto size = static_cast<std::size_t>(p * p);
    std::vector<double> sums(size), squares(size), both(size), again(size), spare(size), other(size);
    const Matrix<const double> cells = c_matrix<const double>(z.data(), n, p);
    const Matrix<const std::uint8_t> marked = c_matrix<const std::uint8_t>(marks.data(), n, p);
    gap_sums(cells, marked, sums.data(), squares.data(), both.data(), 1);
    gap_sums(cells, marked, again.data(), spare.data(), other.data(), 3);
    CHECK(sums == again && squares == spare && both == other);
    for (index_t j = 0; j < p; ++j) {
        for (index_t i = 0; i < p; ++i) {
            double sum = 0, square = 0, count = 0;
            for (index_t r = 0; r < n; ++r) {
                if (marked(r, j) == 0) continue;
                sum += cells(r, i);
                square += cells(r, i) * cells(r, i);
                count += marked(r, i);
            }
            const auto at = static_cast<std::size_t>(j * p + i);
            CHECK(std::abs(sums[at] - sum) < 1e-10 && std::abs(squares[at] - square) < 1e-10 && both[at] == count);
        }
    }
}

namespace {

// Lists of unequal length, one of them empty, with rows in any order.
std::vector<std::vector<std::int64_t>> some_lists(index_t n) {
    std::vector<std::vector<std::int64_t>> lists(5);
    for (index_t i = 0; i < n; ++i) {
        lists[0].push_back(n - 1 - i);
        if (i % 3 == 0) lists[1].push_back(i);
        if (i % 7 == 2) lists[2].push_back(i);
    }
    lists[3].push_back(n / 2);
    return lists;
}

RowLists views_of(const std::vector<std::vector<std::int64_t>>& lists) {
    RowLists out;
    for (const auto& one : lists) out.push_back({one.data(), static_cast<index_t>(one.size())});
    return out;
}

}  // namespace

TEST("sums over many lists have the bits of each list by itself, on every instruction set and thread count") {
    const index_t n = 1100, p = 11, classes = 3;
    const std::vector<double> x = normals(n * p, 3, 2.0), shift = normals(p, 4), shifts = normals(classes * p, 5);
    std::vector<std::int32_t> codes(static_cast<std::size_t>(n));
    for (index_t i = 0; i < n; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % classes);
    const auto held = some_lists(n);
    const RowLists lists = views_of(held);
    const Matrix<const double> table = c_matrix(x.data(), n, p);
    const auto size = static_cast<std::size_t>(classes * (p + 1) * (p + 1)), width = static_cast<std::size_t>(p);
    std::vector<double> first_mean;
    for (Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
        set_simd_level(level);
        for (int threads : {1, 3, 8}) {
            const auto moments = fold_moments(table, codes.data(), classes, lists, shift.data(), threads);
            std::vector<double> grams(lists.size() * size), mean(lists.size() * width), left(mean), square(mean);
            fold_grams(table, codes.data(), classes, lists, shifts.data(), grams.data(), threads);
            fold_spreads(table, p, lists, mean.data(), left.data(), square.data(), threads);
            if (first_mean.empty()) first_mean = square;
            CHECK(first_mean == square);
            for (std::size_t k = 0; k < lists.size(); ++k) {
                const RowSelection chosen{lists[k].rows, lists[k].count, nullptr};
                const auto own = class_moments(table, codes.data(), classes, chosen, shift.data(), {}, 1);
                CHECK(own.sum == moments[k].sum && own.square == moments[k].square && own.count == moments[k].count);
                std::vector<double> gram(size);
                class_grams(table, codes.data(), classes, chosen, shifts.data(), gram.data(), 1);
                CHECK(std::equal(gram.begin(), gram.end(), grams.begin() + static_cast<index_t>(k * size)));
                std::vector<double> columns;
                for (index_t j = 0; j < p; ++j)
                    for (std::int64_t row : held[k]) columns.push_back(table(row, j));
                std::vector<double> m(width), l(width), s(width);
                column_spread(c_matrix<const double>(columns.data(), p, lists[k].count), m.data(), l.data(), s.data(), threads);
                const auto at = static_cast<index_t>(k * width);
                CHECK(std::equal(m.begin(), m.end(), mean.begin() + at));
                CHECK(std::equal(l.begin(), l.end(), left.begin() + at));
                CHECK(std::equal(s.begin(), s.end(), square.begin() + at));
            }
        }
    }
    set_simd_level(simd_supported());
}

TEST("each list has the values of its own linear function, whatever the instruction set and the threads") {
    const index_t n = 5000;
    for (const index_t p : {1, 8, 21}) {
        const std::vector<double> x = normals(n * p, 3, 2.0);
        const auto held = some_lists(n);  // one of them of more rows than a chunk has
        const RowLists lists = views_of(held);
        const auto count = static_cast<index_t>(lists.size());
        const std::vector<double> means = normals(count * (p + 1), 6), slopes = normals(count * p, 7);
        std::vector<double> wanted;
        for (index_t k = 0; k < count; ++k)
            for (const std::int64_t row : held[static_cast<std::size_t>(k)]) {
                double value = means[static_cast<std::size_t>(k * (p + 1) + p)];
                for (index_t j = 0; j < p; ++j)
                    value += slopes[static_cast<std::size_t>(k * p + j)] *
                             (x[static_cast<std::size_t>(row * p + j)] - means[static_cast<std::size_t>(k * (p + 1) + j)]);
                wanted.push_back(value);
            }
        for (Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
            set_simd_level(level);
            std::vector<double> once(wanted.size()), again(wanted.size());
            const auto find = [&](const RowLists& some, std::vector<double>& out, int threads) {
                fold_lines(c_matrix(x.data(), n, p), some, c_matrix(means.data(), count, p + 1),
                           c_matrix(slopes.data(), count, p), out.data(), threads);
            };
            find(lists, once, 1);
            find(lists, again, 3);
            CHECK(once == again);
            find({lists.front()}, again, 8);
            CHECK(std::equal(once.begin(), once.begin() + lists.front().count, again.begin()));
            for (std::size_t i = 0; i < wanted.size(); ++i) CHECK_NEAR(once[i], wanted[i], 1e-11);
        }
    }
    set_simd_level(simd_supported());
}

TEST("lists are complementary where they hold every row once between them") {
    const std::vector<std::vector<std::int64_t>> trains{{0, 2, 3}, {0, 1}, {0, 0, 1}, {0, 1, 2, 3}, {3, 0, 2},
                                                        {0, 1, 3}, {1, 2},  {3},       {0, 3},       {}},
        tests{{1}, {2}, {3}, {}, {1}, {3}, {0, 3}, {0, 1, 2}, {0, 2}, {0, 1, 2, 3}};
    const std::vector<int> wanted{2, 0, 0, 2, 1, 0, 2, 2, 0, 2};
    std::vector<std::uint8_t> split(trains.size());
    complementary(views_of(trains), views_of(tests), 4, split.data(), 2);
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(split[k] == wanted[k]);
}

TEST("numbers are between two ends where none of them is beyond either") {
    for (const Simd level : {Simd::baseline, Simd::avx2, Simd::avx512}) {
        if (set_simd_level(level) != level) continue;
        const std::vector<std::int64_t> numbers{0, 3, -1, 2, 1, 3, 0, 0, 2};
        const auto hold = [&](std::int64_t low, std::int64_t end, index_t count) {
            return are_between(numbers.data(), count, low, end);
        };
        CHECK(hold(0, 4, 2) && !hold(0, 4, 9) && hold(-1, 4, 9) && !hold(-1, 3, 9) && hold(0, 0, 0) && !hold(0, 0, 1));
        const std::int64_t ends[] = {INT64_MIN, INT64_MAX};
        CHECK(!are_between(ends, 1, 0, 10) && !are_between(ends + 1, 1, 0, 10) && !are_between(ends, 1, -1, 10));
    }
    set_simd_level(simd_supported());
}
