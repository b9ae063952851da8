# Writes numbers.json: Rscript make_numbers.R <folder with the tables of tables.py> <numbers.json>
library(glmnet)
args <- commandArgs(TRUE)
glmnet.control(fdev = 0, devmax = 1)
number <- function(v) gsub("Inf", "1e999", paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]"))
matrix_text <- function(m) paste0("[", paste(apply(m, 1, number), collapse = ", "), "]")
cases <- character(0)

by_hand <- function(options, lambda, folds) {
  n <- nrow(options$x); total <- 0 * lambda; of_row <- (seq_len(n) - 1) %% folds + 1
  for (fold in seq_len(folds)) {
    test <- of_row == fold; part <- options
    part$x <- options$x[!test, ]; part$y <- options$y[!test]
    shares <- predict(do.call(glmnet, c(part, list(lambda = lambda))), options$x[test, ], type = "response")
    codes <- as.integer(options$y[test])
    for (k in seq_along(lambda)) total[k] <- total[k] - 2 * sum(log(shares[cbind(seq_along(codes), codes, k)]))
  }
  total / n
}

fit <- function(table, family, alpha, standardize, weighted = FALSE, offset = FALSE, factors = NULL, positive = FALSE,
                shares = c(0.5, 0.1, 0.01), folds = 0, as_object = FALSE) {
  data <- as.matrix(read.csv(file.path(args[1], paste0(table, ".csv")), header = FALSE))
  x <- unname(data[, -ncol(data)]); y <- unname(data[, ncol(data)]); n <- nrow(x)
  if (table == "printed" && family == "binomial") y <- as.numeric(y >= 50)
  options <- list(x = x, y = if (family == "multinomial") factor(y) else y, alpha = alpha, standardize = standardize,
                  family = if (as_object) get(family)() else family,
                  thresh = 1e-20, maxit = 1e7)
  if (weighted) options$weights <- 0.5 * ((seq_len(n) - 1) %% 5)
  if (offset) options$offset <- 0.05 * ((seq_len(n) - 1) %% 7)
  if (!is.null(factors)) options$penalty.factor <- factors
  if (positive) options$lower.limits <- 0
  top <- do.call(glmnet, c(options, list(nlambda = 3)))$lambda[1]
  lambda <- signif(top * shares, 8)
  path <- do.call(glmnet, c(options, list(lambda = lambda)))
  stopifnot(length(path$lambda) == length(lambda))
  lines <- c(
    sprintf('"table": "%s", "family": "%s", "alpha": %g', table, family, alpha),
    sprintf('"standardize": %s, "weighted": %s, "offset": %s, "positive": %s, "as_object": %s',
            tolower(standardize), tolower(weighted), tolower(offset), tolower(positive), tolower(as_object)),
    sprintf('"penalty_factor": %s', if (is.null(factors)) "null" else number(factors)),
    sprintf('"lambda": %s', number(path$lambda)),
    sprintf('"dev_ratio": %s, "null_deviance": %.17g', number(path$dev.ratio), path$nulldev),
    if (family == "multinomial") {
      blocks <- sapply(path$beta, function(b) matrix_text(t(as.matrix(b))))
      c(sprintf('"a0": %s', matrix_text(t(path$a0))), sprintf('"beta": [%s]', paste(blocks, collapse = ", ")))
    } else c(sprintf('"a0": %s', number(path$a0)), sprintf('"beta": %s', matrix_text(t(as.matrix(path$beta)))))
  )
  if (folds > 0) {
    # cv.glmnet() of this version stops with an error for multinomial fits with few lambdas
    loss <- if (family == "multinomial") by_hand(options, lambda, folds) else
      do.call(cv.glmnet, c(options, list(lambda = lambda, foldid = (seq_len(n) - 1) %% folds + 1)))$cvm
    lines <- c(lines, sprintf('"folds": %d, "cvm": %s', folds, number(loss)))
  }
  cases <<- c(cases, paste0("  {", paste(lines, collapse = ",\n   "), "}"))
}

adaptive <- c(0.5, 1, 2, 0.25, 4, 1, 3, 0.75, 1.5, 1)
free <- c(0, 1, 1, 0, 1, 1, 1, 1, 1, 1)
for (alpha in c(1, 0.5, 0.1)) for (standardize in c(TRUE, FALSE)) {
  fit("diabetes", "gaussian", alpha, standardize)
  fit("cancer", "binomial", alpha, standardize)
  fit("counts", "poisson", alpha, standardize)
  fit("iris", "multinomial", alpha, standardize)
}
for (alpha in c(1, 0.5)) {
  fit("wine", "multinomial", alpha, TRUE)
  fit("wine", "multinomial", alpha, TRUE, weighted = TRUE)
  fit("diabetes", "gaussian", alpha, FALSE, positive = TRUE)
  fit("diabetes", "gaussian", alpha, FALSE, as_object = TRUE)
  for (case in list(c("diabetes", "gaussian"), c("cancer", "binomial"), c("counts", "poisson"))) {
    fit(case[1], case[2], alpha, TRUE, weighted = TRUE)
    fit(case[1], case[2], alpha, TRUE, factors = free)
    fit(case[1], case[2], alpha, FALSE, factors = adaptive)
    fit(case[1], case[2], alpha, TRUE, weighted = TRUE, offset = TRUE, factors = free)
  }
}
fit("diabetes", "gaussian", 1, TRUE, factors = c(1, Inf, 1, 1, 1, 1, 1, 1, Inf, 1))
fit("diabetes", "gaussian", 1, FALSE, folds = 5, shares = c(0.5, 0.2, 0.1, 0.05, 0.02, 0.01))
fit("diabetes", "gaussian", 0.5, FALSE, folds = 5, shares = c(0.5, 0.1, 0.01), as_object = TRUE)
fit("cancer", "binomial", 1, FALSE, folds = 5, shares = c(0.2, 0.1, 0.05, 0.02))
fit("cancer", "binomial", 0.5, FALSE, folds = 5, shares = c(0.2, 0.1, 0.05, 0.02))
fit("iris", "multinomial", 1, FALSE, folds = 5, shares = c(0.5, 0.2, 0.1, 0.05, 0.02))
fit("counts", "poisson", 1, FALSE, folds = 4)
for (family in c("gaussian", "binomial", "poisson")) fit("printed", family, 1, TRUE)

writeLines(c(
  "{", sprintf(' "program": "glmnet %s on %s",', packageVersion("glmnet"), R.version.string),
  ' "command": "make_numbers.R beside the test: glmnet(thresh=1e-20, maxit=1e7) at shares of the first lambda",',
  ' "data": "tables.py beside the test: the sets bundled with scikit-learn and one table of ten rows",',
  ' "cases": [', paste(cases, collapse = ",\n"), " ]", "}"), args[2])
