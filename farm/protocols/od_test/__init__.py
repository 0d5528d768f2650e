"""OD-test: methods learn from one set of outliers and are judged on all others.

Shafaei, Schmidt & Little, "Does Your Model Know the Digit 6 Is Not a Cat? A Less Biased Evaluation of
Outlier Detectors", 2018.
"""
