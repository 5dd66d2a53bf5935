"""Learners: scikit-learn estimators whose fitted state is a rule graph."""
