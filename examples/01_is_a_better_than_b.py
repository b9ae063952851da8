"""Is a decision tree really better than naive Bayes on the wine data? Ask with a test, not with two means."""

from assay.data import load_dataset
from assay.experiment import Plan, run

table = load_dataset("wine")
plan = Plan(table, target="cultivar", learners=["zero-r", "naive-bayes", "cart-classifier"], random_state=1)
results = run(plan)

for learner in results.to_dict()["learners"]:
    low, high = learner["interval"]
    print(f"{learner['title']:16} {learner['mean']:.3f}  ({low:.3f} to {high:.3f})  {learner['verdict']}")
print(results.comparison.sentence)
