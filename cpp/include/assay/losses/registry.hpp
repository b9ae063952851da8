// Every loss by name: one line registers one, for enumeration, dispatch and the names that Python sees.
//
// A row policy makes of a row's K raw scores f and its target y
//   one(y, f, parameter)                         value, gradient and Hessian for K = 1, as straight-line arithmetic
//   row(f, K, y, parameter, gradient, hessian)   the same for any K; f and gradient may be one place, hessian null;
//                                                hessian is the diagonal of the second derivative; returns the value
// Targets are numbers, or class codes: for K = 1 the codes 0 and 1 with margins -f and f, for K > 1 the codes 0..K-1, where
// margin losses are summed one class against the rest and log_loss is the softmax. Losses of means (poisson and below) take
// the raw score as the logarithm of the mean. `parameter`: epsilon of huber, level of quantile, power of tweedie, theta of
// negative_binomial; others do not read it.
#pragma once

#include "assay/losses/absolute_error.hpp"
#include "assay/losses/exponential.hpp"
#include "assay/losses/gamma.hpp"
#include "assay/losses/hinge.hpp"
#include "assay/losses/huber.hpp"
#include "assay/losses/inverse_gaussian.hpp"
#include "assay/losses/log_loss.hpp"
#include "assay/losses/mape.hpp"
#include "assay/losses/modified_huber.hpp"
#include "assay/losses/msle.hpp"
#include "assay/losses/negative_binomial.hpp"
#include "assay/losses/poisson.hpp"
#include "assay/losses/quantile.hpp"
#include "assay/losses/softmax.hpp"
#include "assay/losses/squared_error.hpp"
#include "assay/losses/squared_hinge.hpp"
#include "assay/losses/squared_margin.hpp"
#include "assay/losses/terms.hpp"
#include "assay/losses/tweedie.hpp"

namespace assay::losses {

template <class Terms>
struct OfNumber {
    ASSAY_INLINE LossTerms one(double y, double f, double parameter) { return Terms::at(y, f, parameter); }
    ASSAY_INLINE double target_of(double y, index_t, index_t) { return y; }
};

template <class Terms>
struct OfMargin {
    ASSAY_INLINE LossTerms one(double code, double f, double) {
        const double sign = code > 0.5 ? 1.0 : -1.0;
        const LossTerms terms = Terms::at(sign * f);
        return {terms.value, sign * terms.gradient, terms.hessian};
    }
    ASSAY_INLINE double target_of(double code, index_t k, index_t outputs) {
        return outputs == 1 ? code : (static_cast<index_t>(code) == k ? 1.0 : 0.0);
    }
};

// Scores that are judged one by one.
template <class Policy>
struct Apart : Policy {
    ASSAY_INLINE double row(const double* f, index_t outputs, double y, double parameter, double* gradient,
                            double* hessian) {
        double total = 0.0;
        for (index_t k = 0; k < outputs; ++k) {
            const LossTerms terms = Policy::one(Policy::target_of(y, k, outputs), f[k], parameter);
            total += terms.value;
            gradient[k] = terms.gradient;
            if (hessian != nullptr) hessian[k] = terms.hessian;
        }
        return total;
    }
};

// Scores of classes that share one softmax; a single score is the log odds of code 1.
struct OfClasses : OfMargin<LogLoss> {
    ASSAY_INLINE double row(const double* f, index_t outputs, double code, double parameter, double* gradient,
                            double* hessian) {
        if (outputs == 1) return Apart<OfMargin<LogLoss>>::row(f, 1, code, parameter, gradient, hessian);
        const auto own = static_cast<index_t>(code);
        for (index_t k = 0; k < outputs; ++k) gradient[k] = f[k];
        double missed;
        const double value = softmax(gradient, outputs, outputs, own, missed);
        if (hessian != nullptr)
            for (index_t k = 0; k < outputs; ++k) hessian[k] = gradient[k] * (k == own ? missed : 1.0 - gradient[k]);
        gradient[own] = -missed;
        return value;
    }
};

template <class Family>
using OfMean = OfNumber<OfDeviance<Family, Log>>;

}  // namespace assay::losses

// Losses with bounded gradients or Hessians, which gradient descent can follow from anywhere.
#define ASSAY_BOUNDED_LOSSES(each)                 \
    each(squared_error, Apart<OfNumber<SquaredError>>)   \
    each(absolute_error, Apart<OfNumber<AbsoluteError>>) \
    each(huber, Apart<OfNumber<Huber>>)                  \
    each(quantile, Apart<OfNumber<Quantile>>)            \
    each(mape, Apart<OfNumber<Mape>>)                    \
    each(msle, Apart<OfNumber<Msle>>)                    \
    each(log_loss, OfClasses)                            \
    each(hinge, Apart<OfMargin<Hinge>>)                  \
    each(squared_hinge, Apart<OfMargin<SquaredHinge>>)   \
    each(modified_huber, Apart<OfMargin<ModifiedHuber>>) \
    each(squared_margin, Apart<OfMargin<SquaredMargin>>)

#define ASSAY_LOSSES(each)                                 \
    ASSAY_BOUNDED_LOSSES(each)                             \
    each(exponential, Apart<OfMargin<Exponential>>)        \
    each(poisson, Apart<OfMean<Poisson>>)                  \
    each(gamma, Apart<OfMean<Gamma>>)                      \
    each(inverse_gaussian, Apart<OfMean<InverseGaussian>>) \
    each(tweedie, Apart<OfMean<Tweedie>>)                  \
    each(negative_binomial, Apart<OfMean<NegativeBinomial>>)

namespace assay {

#define ASSAY_LOSS_NUMBER(name, ...) name,
enum class Loss : int { ASSAY_LOSSES(ASSAY_LOSS_NUMBER) count };
#undef ASSAY_LOSS_NUMBER

}  // namespace assay
