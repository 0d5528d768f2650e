"""Robustness evaluation: where does a classifier break, and can its certainty be trusted there?

Heindrich, "Image classifiers in automated vehicles: an evaluation framework for robustness", 2020.
"""
