// The losses that boosting descends, from losses/: value, gradient and Hessian of a row in the raw score f.
#pragma once

#include "assay/losses/registry.hpp"

namespace assay::ensembles {

using RowTerms = losses::LossTerms;

// Losses without a second derivative to divide by: leaves count their weight instead.
template <class Terms>
struct ByWeight {
    ASSAY_INLINE RowTerms at(double y, double f, double parameter) {
        const RowTerms terms = Terms::at(y, f, parameter);
        return {terms.value, terms.gradient, 1.0};
    }
};

using SquaredTerms = losses::SquaredError;
using AbsoluteTerms = ByWeight<losses::AbsoluteError>;
using HuberTerms = ByWeight<losses::Huber>;
using QuantileTerms = ByWeight<losses::Quantile>;
using PoissonTerms = losses::OfDeviance<losses::Poisson, losses::Log>;
using GammaTerms = losses::OfDeviance<losses::Gamma, losses::Log>;
using TweedieTerms = losses::OfDeviance<losses::Tweedie, losses::Log>;

struct LogisticTerms {
    ASSAY_INLINE RowTerms at(double y, double f, double parameter) {
        return losses::OfMargin<losses::LogLoss>::one(y, f, parameter);
    }
};

}  // namespace assay::ensembles
