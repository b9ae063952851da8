# The numbers of iris_bic.json: R, package mclust.
library(mclust)
print(mclustBIC(iris[, 1:4], G = 1:3, modelNames = c("VVV", "EEE", "VVI", "VII")))
