# Writes rda.json: Rscript make_rda.R <wine.csv> <rda.json>
# The regularised discriminant analysis of klaR::rda, from its published definition (Friedman, Regularized discriminant
# analysis, JASA 84, 1989; klaR's manual): S_k(lambda) = (1 - lambda) S_k + lambda S with S the pooled covariance, then
# (1 - gamma) S_k(lambda) + gamma mean(diag(S_k(lambda))) I; priors by frequency. klaR itself could not be had here.
args <- commandArgs(TRUE)
data <- read.csv(args[1], header = FALSE)
x <- as.matrix(data[, 1:13]); y <- factor(data[, 14])
x <- scale(x)
rows <- c(seq(1, nrow(x), by = 12), 62, 74, 84)
p <- ncol(x); n <- nrow(x); k <- nlevels(y)
own <- lapply(levels(y), function(g) cov(x[y == g, ]))
size <- as.numeric(table(y))
pooled <- Reduce(`+`, Map(function(s, m) s * (m - 1), own, size)) / (n - k)
posterior <- function(gamma, lambda) {
  scores <- sapply(seq_len(k), function(g) {
    s <- (1 - lambda) * own[[g]] + lambda * pooled
    s <- (1 - gamma) * s + gamma * mean(diag(s)) * diag(p)
    z <- sweep(x[rows, ], 2, colMeans(x[y == levels(y)[g], ]))
    log(size[g] / n) - 0.5 * (as.numeric(determinant(s)$modulus) + rowSums((z %*% solve(s)) * z))
  })
  e <- exp(scores - apply(scores, 1, max))
  e / rowSums(e)
}
text <- function(m) paste0("[", paste(apply(m, 1, function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ", "), "]")),
                                      collapse = ",\n    "), "]")
pairs <- rbind(c(0, 0), c(0, 0.3), c(0, 0.8), c(0, 1), c(0.25, 1), c(0.6, 1), c(0.25, 0.4), c(0.6, 0))
found <- apply(pairs, 1, function(v) sprintf('  "%g %g": %s', v[1], v[2], text(posterior(v[1], v[2]))))
writeLines(c("{", sprintf('  "made by": "%s, the definition of klaR::rda",', R.version.string),
             sprintf('  "rows": [%s],', paste(rows - 1, collapse = ", ")), paste(found, collapse = ",\n"), "}"), args[2])
