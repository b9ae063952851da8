# Fisher's exact test (one-sided) and the chi-squared statistic of rules, by base R, from the counts of the left side, the right
# side and both among n baskets: the counts of twelve rules of arules' Groceries (see ../arules), and some extremes.
# Rscript make_rule_tests.R > rule_tests.json
counts <- rbind(
  c(9835, 705, 1903, 284), c(9835, 1072, 1903, 466), c(9835, 481, 1903, 228), c(9835, 736, 1072, 228),
  c(9835, 427, 2513, 219), c(9835, 551, 1903, 219), c(9835, 19, 327, 12), c(9835, 19, 372, 12),
  c(9835, 30, 414, 19), c(9835, 21, 792, 19), c(9835, 39, 705, 20), c(9835, 76, 1072, 41),
  c(9835, 2513, 1903, 400), c(10, 4, 5, 3), c(8, 8, 3, 3), c(100000, 30000, 20000, 6100), c(100000, 30000, 20000, 5900)
)
one <- function(row) {
  n <- row[1]; x <- row[2]; y <- row[3]; k <- row[4]
  cells <- matrix(c(k, x - k, y - k, n - x - y + k), 2)
  p <- fisher.test(cells, alternative = "greater")$p.value
  chi <- if (x == n || y == n) 0 else unname(suppressWarnings(chisq.test(cells, correct = FALSE))$statistic)
  sprintf('{"n": %d, "left": %d, "right": %d, "both": %d, "p_value": %.15g, "chi_squared": %.15g}', n, x, y, k, p, chi)
}
cat('{"by": "', R.version.string, '", "rules": [\n', paste(apply(counts, 1, one), collapse = ",\n"), "\n]}\n", sep = "")
