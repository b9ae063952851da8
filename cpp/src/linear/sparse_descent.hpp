// The two inner loops of gradient descent on rows of a sparse table: a row costs its stored cells.
//
// A step on one row shrinks every coefficient, b <- sign(b) max(keep |b| - cut, 0), before or after the row moves a few of
// them. With K the product of the keeps so far, b = K u and U the sum of cut / K, these shrinkings compose to
//   |u| <- max(|u| - (U now - U when u was last brought up to date), 0),
// so that a coefficient is brought up to date when a row touches it, and all are at the end (Langford, Li & Zhang, Journal
// of Machine Learning Research 10, 2009, for the idea). All are brought up to date early where K has become small.
#pragma once

#include <cmath>
#include <vector>

#include "assay/common/simd.hpp"
#include "assay/linear/sparse.hpp"

namespace assay {

template <class Policy, class Batch>
ASSAY_INLINE double accumulate_sparse(const Batch& b) {
    const SparseMatrix& x = b.data.sparse;
    const index_t p = b.data.x.cols, width = p + 1, outputs = b.data.outputs;
    double loss = 0.0;
    for (index_t i = b.begin; i < b.end; ++i) {
        const index_t row = b.rows[i];
        const double weight = b.data.weights.empty() ? 1.0 : b.data.weights[row];
        for (index_t k = 0; k < outputs; ++k) {
            const double* const theta = b.theta + k * width;
            double score = theta[p];
            for (index_t c = x.begin(row); c < x.end(row); ++c) score += theta[x.indices[c]] * x.values[c];
            b.scores[k] = score;
        }
        loss += weight * Policy::row(b.scores, outputs, b.data.target[row], b.data.parameter, b.scores, nullptr);
        if (b.gradient == nullptr) continue;
        for (index_t k = 0; k < outputs; ++k) {
            const double derivative = weight * b.scores[k];
            if (derivative == 0.0) continue;
            double* const gradient = b.gradient + k * width;
            for (index_t c = x.begin(row); c < x.end(row); ++c) gradient[x.indices[c]] += derivative * x.values[c];
            gradient[p] += derivative;
        }
    }
    return loss;
}

template <class Policy, class Single>
ASSAY_INLINE double single_epoch_sparse(const Single& s) {
    const SparseMatrix& x = s.data.sparse;
    const index_t p = s.data.x.cols, width = p + 1, outputs = s.data.outputs;
    std::vector<double> last(static_cast<std::size_t>(p), 0.0);  // U when a coefficient was last brought up to date
    double scale = 1.0, cut_sum = 0.0, loss = 0.0;
    const auto shrunk = [](double value, double by) {
        return value > by ? value - by : (value < -by ? value + by : 0.0);
    };
    const auto settle = [&] {
        for (index_t j = 0; j < p; ++j) {
            const double behind = cut_sum - last[static_cast<std::size_t>(j)];
            for (index_t k = 0; k < outputs; ++k) {
                double& u = s.theta[k * width + j];
                u = scale * (behind > 0.0 ? shrunk(u, behind) : u);
            }
            last[static_cast<std::size_t>(j)] = 0.0;
        }
        scale = 1.0;
        cut_sum = 0.0;
    };
    for (index_t i = 0; i < s.count; ++i) {
        const index_t row = s.rows[i];
        const double weight = s.data.weights.empty() ? 1.0 : s.data.weights[row];
        const double eta = s.options.steps.step(static_cast<double>(s.updates + i),
                                     s.epochs + static_cast<double>(i) / static_cast<double>(s.count), s.eta);
        for (index_t c = x.begin(row); c < x.end(row); ++c) {
            double& seen = last[static_cast<std::size_t>(x.indices[c])];
            if (cut_sum > seen)
                for (index_t k = 0; k < outputs; ++k) {
                    double& u = s.theta[k * width + x.indices[c]];
                    u = shrunk(u, cut_sum - seen);
                }
            seen = cut_sum;
        }
        for (index_t k = 0; k < outputs; ++k) {
            const double* const theta = s.theta + k * width;
            double score = 0.0;
            for (index_t c = x.begin(row); c < x.end(row); ++c) score += theta[x.indices[c]] * x.values[c];
            s.scores[k] = scale * score + theta[p];
        }
        loss += weight * Policy::row(s.scores, outputs, s.data.target[row], s.data.parameter, s.scores, nullptr);
        const double keep = 1.0 - eta * s.options.l2, cut = eta * s.options.l1;
        if (!(keep > 0.0) || scale * keep < 1e-8) {
            settle();
            if (!(keep > 0.0)) {  // a step that overshoots zero: every coefficient, now
                for (index_t k = 0; k < outputs; ++k)
                    for (index_t j = 0; j < p; ++j) s.theta[k * width + j] *= keep;
            } else {
                scale = keep;
            }
        } else {
            scale *= keep;
        }
        for (index_t k = 0; k < outputs; ++k) {
            double* const theta = s.theta + k * width;
            const double move = eta * s.scale * weight * s.scores[k];
            for (index_t c = x.begin(row); c < x.end(row); ++c) theta[x.indices[c]] -= move / scale * x.values[c];
            if (s.data.intercept) theta[p] -= move;
        }
        if (cut > 0.0) cut_sum += cut / scale;
    }
    settle();
    return loss;
}

}  // namespace assay
