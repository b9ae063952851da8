"""Assay's learners are scikit-learn estimators: tune a tree with GridSearchCV and read it."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

from assay.models.trees import CartClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
search = GridSearchCV(CartClassifier(random_state=0), {"ccp_alpha": [0.0, 0.005, 0.02]}, cv=5).fit(X, y)
print(search.best_params_, round(search.best_score_, 3))
print(search.best_estimator_.to_text())
