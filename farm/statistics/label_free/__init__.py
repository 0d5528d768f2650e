"""How often a classifier is right on instances without labels, estimated from others that have some.

Each method takes something for granted that a shift may break, and none can tell by itself whether it did.
What a method's error was where labels are known, under faults of many kinds, tells when to trust it.
"""
