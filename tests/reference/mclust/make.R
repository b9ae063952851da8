# The numbers of iris_bic.json: R 4.2.2, mclust 6.0.0.
library(mclust)
options(digits = 10)
print(unclass(mclustBIC(iris[, 1:4], G = 1:3, modelNames = c("VVV", "EEE", "VVI", "VII")))[1:3, 1:4])
