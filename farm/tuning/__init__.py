"""Searching for a classifier's parameters on validation data alone."""
