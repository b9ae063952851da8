// Sequences: passes over hidden Markov models.
#include <nanobind/stl/optional.h>

#include <optional>

#include "assay/sequences/hmm.hpp"
#include "bindings.hpp"

namespace assay::bindings {
namespace {

sequences::Chain chain_of(const char* who, std::size_t n_columns, std::size_t n_rows,
                          const Array1<const std::int64_t>& offsets, const Array1<const double>& start,
                          const Array2<const double>& transitions) {
    const std::size_t k = start.shape(0), parts = offsets.shape(0);
    require(k > 0 && n_columns == k, who, "logs must have one column per state");
    require(transitions.shape(0) == k && transitions.shape(1) == k, who, "transitions must be k x k");
    require(parts > 1 && offsets.data()[0] == 0 && offsets.data()[parts - 1] == static_cast<std::int64_t>(n_rows),
            who, "offsets must run from 0 to the number of rows");
    for (std::size_t s = 1; s < parts; ++s)
        require(offsets.data()[s] > offsets.data()[s - 1], who, "every sequence must have a row");
    return {static_cast<index_t>(k), start.data(), transitions.data()};
}

sequences::Normals normals_of(const char* who, const Array2<const double>& rows, const Array1<const double>& constants,
                              const Array2<const double>& means, const Array2<const double>& whitening, bool diagonal) {
    const std::size_t k = constants.shape(0), d = rows.shape(1);
    require(means.shape(0) == k && means.shape(1) == d, who, "means must be k x d");
    require(whitening.shape(0) == (diagonal ? k : k * d) && whitening.shape(1) == d, who,
            "whitening must be (k d) x d, or k x d if diagonal");
    return {view(rows), diagonal, constants.data(), means.data(), whitening.data()};
}

}  // namespace

void bind_sequences(nb::module_& m) {
    m.def(
        "hmm_pass",
        [](const Array2<const double>& logs, const Array1<const std::int64_t>& offsets, const Array1<const double>& start,
           const Array2<const double>& transitions, const std::optional<Array1<const double>>& weights, bool want_filtered,
           bool want_smoothed, bool want_moves, std::int64_t lag, const std::optional<Array1<const std::int64_t>>& codes,
           const std::optional<Array2<double>>& into, int threads) {
            const char* who = "hmm_pass";
            const std::size_t n = codes ? codes->shape(0) : logs.shape(0);
            const auto chain = chain_of(who, logs.shape(1), n, offsets, start, transitions);
            const std::size_t k = start.shape(0), parts = offsets.shape(0) - 1;
            const std::size_t n_symbols = codes ? logs.shape(0) : 0;
            require(!codes || n_symbols > 0, who, "logs must have a row");
            if (codes)
                for (std::size_t t = 0; t < n; ++t)
                    require(codes->data()[t] < static_cast<std::int64_t>(n_symbols), who, "codes must be rows of logs");
            const sequences::Symbols symbols{codes ? codes->data() : nullptr, static_cast<index_t>(n_symbols)};
            require(!weights || weights->shape(0) == parts, who, "weights must have one number per sequence");
            require(!want_moves || lag < 0, who, "moves need whole sequences");
            std::vector<double> likelihood(parts), filtered(want_filtered ? n * k : 0), smoothed(want_smoothed && !into ? n * k : 0);
            require(!into || (into->shape(0) == n && into->shape(1) == k), who, "into must be n x k");
            std::vector<double> starts(want_moves ? k : 0), moves(want_moves ? k * k : 0);
            std::vector<double> counts(want_moves ? n_symbols * k : 0);
            const sequences::PassResult out{likelihood.data(), want_filtered ? filtered.data() : nullptr,
                                            !want_smoothed ? nullptr : into ? into->data() : smoothed.data(),
                                            want_moves ? starts.data() : nullptr, want_moves ? moves.data() : nullptr,
                                            want_moves && codes ? counts.data() : nullptr, nullptr};
            without_gil([&] {
                sequences::hmm_pass(view(logs), view(offsets), symbols, chain, weights ? weights->data() : nullptr,
                                    static_cast<index_t>(lag), out, threads);
            });
            return nb::make_tuple(own(std::move(likelihood)), own(std::move(filtered), want_filtered ? n : 0, k),
                                  own(std::move(smoothed), want_smoothed && !into ? n : 0, k), own(std::move(starts)),
                                  own(std::move(moves), want_moves ? k : 0, k),
                                  own(std::move(counts), want_moves ? n_symbols : 0, k));
        },
        "logs"_a, "offsets"_a, "start"_a, "transitions"_a, "weights"_a.none(), "want_filtered"_a, "want_smoothed"_a,
        "want_moves"_a, "lag"_a, "codes"_a.none(), "into"_a.none(), "threads"_a,
        "Log likelihood of each sequence, filtered and smoothed states, expected starts, moves and symbols. A negative code is a "
        "missing symbol, the last row of logs; `into` may be logs.");
    m.def(
        "hmm_decode",
        [](const Array2<const double>& logs, const Array1<const std::int64_t>& offsets, const Array1<const double>& start,
           const Array2<const double>& transitions, int threads) {
            const auto chain = chain_of("hmm_decode", logs.shape(1), logs.shape(0), offsets, start, transitions);
            std::vector<std::int64_t> path(logs.shape(0));
            std::vector<double> best(offsets.shape(0) - 1);
            without_gil([&] {
                sequences::hmm_decode(view(logs), view(offsets), chain, path.data(), best.data(), threads);
            });
            return nb::make_tuple(own(std::move(best)), own(std::move(path)));
        },
        "logs"_a, "offsets"_a, "start"_a, "transitions"_a, "threads"_a,
        "Log probability of the likeliest path of each sequence, and the path.");
    m.def(
        "hmm_normal_pass",
        [](const Array2<const double>& rows, const Array1<const std::int64_t>& offsets, const Array1<const double>& start,
           const Array2<const double>& transitions, const std::optional<Array1<const double>>& weights,
           const Array1<const double>& constants, const Array2<const double>& means, const Array2<const double>& whitening,
           bool diagonal, int threads) {
            const char* who = "hmm_normal_pass";
            const auto normals = normals_of(who, rows, constants, means, whitening, diagonal);
            const std::size_t k = start.shape(0), d = rows.shape(1), parts = offsets.shape(0) - 1;
            require(constants.shape(0) == k, who, "constants must have one number per state");
            const auto chain = chain_of(who, k, rows.shape(0), offsets, start, transitions);
            require(!weights || weights->shape(0) == parts, who, "weights must have one number per sequence");
            const std::size_t size = 1 + d + (diagonal ? d : d * d);
            std::vector<double> likelihood(parts), starts(k), moves(k * k), moments(k * size);
            const sequences::PassResult out{likelihood.data(), nullptr, nullptr, starts.data(), moves.data(), nullptr,
                                            moments.data()};
            without_gil([&] {
                sequences::hmm_pass({}, view(offsets), {}, chain, weights ? weights->data() : nullptr, -1, out, threads,
                                    &normals);
            });
            return nb::make_tuple(own(std::move(likelihood)), own(std::move(starts)), own(std::move(moves), k, k),
                                  own(std::move(moments), k, size));
        },
        "rows"_a, "offsets"_a, "start"_a, "transitions"_a, "weights"_a.none(), "constants"_a, "means"_a, "whitening"_a,
        "diagonal"_a, "threads"_a,
        "Log likelihood of each sequence under normal distributions of the rows, expected starts and moves, and the moments "
        "of the rows by state.");
    m.def(
        "gaussian_logs",
        [](const Array2<const double>& rows, const Array1<const double>& constants, const Array2<const double>& means,
           const Array2<const double>& whitening, bool diagonal, Array2<double>& logs, int threads) {
            const std::size_t k = constants.shape(0);
            require(logs.shape(0) == rows.shape(0) && logs.shape(1) == k, "gaussian_logs", "logs must be n x k");
            const auto normals = normals_of("gaussian_logs", rows, constants, means, whitening, diagonal);
            without_gil([&] { sequences::gaussian_logs(normals, static_cast<index_t>(k), logs.data(), threads); });
        },
        "rows"_a, "constants"_a, "means"_a, "whitening"_a, "diagonal"_a, "logs"_a, "threads"_a,
        "Log density of every row under every normal distribution, into logs.");
    m.def(
        "gaussian_moments",
        [](const Array2<const double>& rows, const Array2<const double>& shares, const Array2<const double>& means,
           bool diagonal, int threads) {
            const std::size_t k = shares.shape(1), d = rows.shape(1), n = rows.shape(0);
            require(shares.shape(0) == n, "gaussian_moments", "shares must have one row per row");
            require(means.shape(0) == k && means.shape(1) == d, "gaussian_moments", "means must be k x d");
            const sequences::Normals normals{view(rows), diagonal, nullptr, means.data(), nullptr};
            const std::size_t size = 1 + d + (diagonal ? d : d * d);
            std::vector<double> moments(k * size);
            without_gil([&] { sequences::gaussian_moments(normals, view(shares), moments.data(), threads); });
            return own(std::move(moments), k, size);
        },
        "rows"_a, "shares"_a, "means"_a, "diagonal"_a, "threads"_a,
        "Weighted moments of the rows about the mean of each component: its count, first and second (lower part).");
}

}  // namespace assay::bindings
