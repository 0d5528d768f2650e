"""What validation data can mend of a network's confidence once it is trained, and what they cannot.

Each part is fitted on validation data and applied to others: a temperature, a weight and a bias for each
class, recalibrated quantiles of boxes, and conformal sets of classes and bands of boxes with a stated
coverage. All hold for data of the same kind as the validation data. Under a shift they may not, and
`farm.statistics.post_hoc.coverage` tells by how much.
"""
