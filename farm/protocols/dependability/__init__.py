"""Dependability metrics: is a network robust, interpretable and correct, and are its data complete?

Cheng, Nührenberg, Huang and Yasuoka, "Towards dependability metrics for neural networks", 2018.
"""
