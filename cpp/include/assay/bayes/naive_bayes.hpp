// Scores of naive Bayes: the joint log probability of each row with each class,
//
//   s_ic = log prior_c + sum over the present cells j of log P(x_ij | c)
//
// where a column contributes by its distribution:
//   Gaussian      constant_cj - half_precision_cj (x - mean_cj)^2
//   proportional  slope_cj x                      (multinomial counts)
//   table         table_c[offset_j + code]        (categories; a 0/1 column has code 1 when x > 0)
// A missing cell (NaN) and a category outside the table contribute nothing.
//
// Rows are taken 16 at a time and scored for all classes while in cache: along the row where 8 Gaussian columns or more
// stand side by side, else transposed; a row that turns out to hold a missing cell is scored again one cell at a time. Cost: one read of X, 3 flops for each cell and class.
#pragma once

#include <cstdint>

#include "assay/common/row_lists.hpp"
#include "assay/common/views.hpp"
#include "assay/statistics/gram.hpp"

namespace assay {

struct NaiveBayesModel {
    index_t classes = 0;
    const double* log_prior = nullptr;  // classes

    const std::int32_t* gaussian = nullptr;  // column numbers
    index_t n_gaussian = 0;
    const double* mean = nullptr;  // classes x n_gaussian, as the next two
    const double* half_precision = nullptr;
    const double* constant = nullptr;

    const std::int32_t* proportional = nullptr;
    index_t n_proportional = 0;
    const double* slope = nullptr;  // classes x n_proportional

    const std::int32_t* tabled = nullptr;
    const std::int32_t* table_sizes = nullptr;
    const std::uint8_t* binary = nullptr;  // 1 where the code is (x > 0)
    index_t n_tabled = 0;
    const double* table = nullptr;  // classes x sum of table_sizes
};

// What is wanted for each row: the joint log probability, or it normalised over the classes (as log or not).
enum class ClassScores : int { joint = 0, log_probability = 1, probability = 2 };

// scores (OUT): n x classes, C-ordered.
void naive_bayes_scores(Matrix<const double> x, const NaiveBayesModel& model, ClassScores wanted, double* scores,
                        int threads);
// Probabilities of the rows of each list by a model of its own, one list below the other; the models have Gaussian columns
// alone, and log_prior, mean, half_precision and constant hold those of all lists, one after the other.
void naive_bayes_fold_scores(Matrix<const double> x, const RowLists& lists, const NaiveBayesModel& models,
                             double* probabilities, int threads);
// best (OUT): the class of highest joint log probability for each row, the first of equals.
void naive_bayes_labels(Matrix<const double> x, const NaiveBayesModel& model, std::int32_t* best, int threads);

}  // namespace assay
