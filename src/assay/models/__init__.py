"""Learners, one folder per family. The catalogue lists them; import from the family, e.g. `assay.models.trees`."""
