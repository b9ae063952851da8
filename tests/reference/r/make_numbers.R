# Writes numbers.json: Rscript make_numbers.R <folder with the tables of ../glmnet/tables.py> <numbers.json>
library(MASS); library(nnet); library(leaps)
args <- commandArgs(TRUE)
number <- function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]")
read <- function(name) {
  data <- read.csv(file.path(args[1], paste0(name, ".csv")), header = FALSE)
  names(data) <- c(paste0("x", seq_len(ncol(data) - 1) - 1), "y")
  data
}
tight <- glm.control(epsilon = 1e-14, maxit = 200)
cases <- character(0)
keep <- function(name, ...) {
  parts <- list(...)
  lines <- mapply(function(key, value) sprintf('"%s": %s', key, value), names(parts), parts)
  cases <<- c(cases, sprintf('  "%s": {%s}', name, paste(lines, collapse = ",\n   ")))
}
table_of <- function(fit, ...) {
  found <- coef(summary(fit, ...))
  list(estimate = number(found[, 1]), error = number(found[, 2]), statistic = number(found[, 3]), p = number(found[, 4]))
}
general <- function(name, fit, ...) {
  do.call(keep, c(list(name), table_of(fit, ...), list(
    deviance = sprintf("%.17g", deviance(fit)), null_deviance = sprintf("%.17g", fit$null.deviance),
    dispersion = sprintf("%.17g", summary(fit)$dispersion), aic = sprintf("%.17g", AIC(fit)),
    bic = sprintf("%.17g", BIC(fit)), log_likelihood = sprintf("%.17g", as.numeric(logLik(fit))),
    df_residual = fit$df.residual)))
}

diabetes <- read("diabetes"); counts <- read("counts"); cancer <- read("cancer")
n <- nrow(diabetes)
for (repeated in c(FALSE, TRUE)) {
  data <- if (repeated) diabetes[rep(seq_len(n), 1 + (seq_len(n) - 1) %% 3), ] else diabetes
  fit <- lm(y ~ ., data)
  told <- summary(fit)
  confidence <- predict(fit, diabetes[c(1, 100, 442), ], interval = "confidence", level = 0.9)
  prediction <- predict(fit, diabetes[c(1, 100, 442), ], interval = "prediction", level = 0.9)
  do.call(keep, c(list(if (repeated) "lm repeated" else "lm"), table_of(fit), list(
    sigma = sprintf("%.17g", told$sigma), r2 = sprintf("%.17g", told$r.squared),
    adjusted_r2 = sprintf("%.17g", told$adj.r.squared), f = sprintf("%.17g", told$fstatistic[1]),
    confint = number(t(confint(fit))), fitted = number(confidence[, "fit"]),
    confidence_low = number(confidence[, "lwr"]), confidence_high = number(confidence[, "upr"]),
    prediction_low = number(prediction[, "lwr"]), prediction_high = number(prediction[, "upr"]))))
}
known <- 0.05 * ((seq_len(n) - 1) %% 7)
general("gaussian", glm(y ~ ., gaussian(), diabetes, control = tight))
general("gaussian log", glm(y ~ ., gaussian(link = "log"), diabetes, control = tight, start = c(log(150), rep(0, 10))))
general("poisson", glm(y ~ ., poisson(), counts, control = tight))
general("poisson offset", glm(y ~ ., poisson(), counts, control = tight, offset = known))
general("gamma log", glm(y ~ ., Gamma(link = "log"), diabetes, control = tight))
general("gamma inverse", glm(y ~ x2 + x3, Gamma(), diabetes, control = tight))
general("inverse gaussian log", glm(y ~ ., inverse.gaussian(link = "log"), diabetes, control = tight))
few <- cancer[, c("x0", "x1", "x4", "x8", "y")]
general("bernoulli logit", glm(y ~ ., binomial(), few, control = tight))
general("bernoulli probit", glm(y ~ ., binomial(link = "probit"), few, control = tight))
general("bernoulli cloglog", glm(y ~ ., binomial(link = "cloglog"), few, control = tight))
general("negative binomial theta 2", glm(y ~ ., negative.binomial(2), counts, control = tight), dispersion = 1)

spread <- counts
spread$y <- floor(diabetes$y^2 / 3000)
fit <- glm.nb(y ~ ., spread, control = glm.control(epsilon = 1e-14, maxit = 500))
do.call(keep, c(list("glm.nb"), table_of(fit), list(
  theta = sprintf("%.17g", fit$theta), deviance = sprintf("%.17g", deviance(fit)),
  null_deviance = sprintf("%.17g", fit$null.deviance), aic = sprintf("%.17g", AIC(fit)),
  bic = sprintf("%.17g", BIC(fit)), log_likelihood = sprintf("%.17g", as.numeric(logLik(fit))))))

graded <- diabetes
graded[, 1:10] <- scale(graded[, 1:10])
graded$y <- cut(diabetes$y, c(-Inf, 100, 200, Inf))
fit <- multinom(y ~ x2 + x3 + x8, graded, maxit = 10000, reltol = 1e-16, abstol = 1e-16, trace = FALSE, Hess = TRUE)
keep("multinom", estimate = number(t(coef(fit))), error = number(t(summary(fit)$standard.errors)),
     deviance = sprintf("%.17g", deviance(fit)), aic = sprintf("%.17g", AIC(fit)))

wine <- read("wine")
for (name in c("diabetes", "wine")) for (method in c("exhaustive", "forward", "backward")) {
  data <- get(name)
  width <- ncol(data) - 1
  found <- summary(regsubsets(as.matrix(data[, seq_len(width)]), data$y, nvmax = width, method = method))
  chosen <- paste(apply(found$which[, -1], 1, function(row) paste0("[", paste(which(row) - 1, collapse = ", "), "]")),
                  collapse = ", ")
  keep(paste("regsubsets", name, method), rss = number(found$rss), adjusted_r2 = number(found$adjr2),
       bic = number(found$bic), columns = paste0("[", chosen, "]"))
}

writeLines(c(
  "{", sprintf(' "program": "%s, MASS %s, nnet %s, leaps %s",', R.version.string, packageVersion("MASS"),
               packageVersion("nnet"), packageVersion("leaps")),
  ' "command": "make_numbers.R beside the test: lm, glm (epsilon=1e-14), glm.nb, multinom, regsubsets",',
  ' "data": "the tables of tables.py in tests/reference/glmnet",',
  ' "cases": {', paste(cases, collapse = ",\n"), " }", "}"), args[2])
