# Writes discriminants.json: Rscript make_discriminants.R <wine.csv> <discriminants.json>
# wine.csv: sklearn.datasets.load_wine(), the 13 columns and then the class, written with 17 digits.
library(MASS)
args <- commandArgs(TRUE)
data <- read.csv(args[1], header = FALSE)
x <- as.matrix(data[, 1:13]); y <- factor(data[, 14])
rows <- c(seq(1, nrow(x), by = 12), 62, 74, 84)
matrix_of <- function(m) paste0("[", paste(apply(m, 1, function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]")),
                                           collapse = ",\n    "), "]")
equal <- rep(1, 3) / 3
fits <- list(
  "lda" = predict(lda(x, y), x)$posterior, "lda equal" = predict(lda(x, y, prior = equal), x)$posterior,
  "lda mle" = predict(lda(x, y, method = "mle"), x)$posterior, "lda loo" = lda(x, y, CV = TRUE)$posterior,
  "qda" = predict(qda(x, y), x)$posterior, "qda equal" = predict(qda(x, y, prior = equal), x)$posterior,
  "qda mle" = predict(qda(x, y, method = "mle"), x)$posterior, "qda loo" = qda(x, y, CV = TRUE)$posterior)
lines <- mapply(function(name, found) sprintf('  "%s": %s', name, matrix_of(found[rows, ])), names(fits), fits)
losses <- sapply(fits[c("lda loo", "qda loo")], function(p) mean(rowSums((p - model.matrix(~ y - 1))^2)))
writeLines(c("{", sprintf('  "made by": "%s, MASS %s",', R.version.string, packageVersion("MASS")),
             sprintf('  "rows": [%s],', paste(rows - 1, collapse = ", ")),
             sprintf('  "squared error of leave-one-out": [%s],', paste(sprintf("%.17g", losses), collapse = ", ")),
             paste(lines, collapse = ",\n"), "}"), args[2])
