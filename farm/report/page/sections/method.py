"""The method in half a page, with references."""

from __future__ import annotations

from farm.report.page.book import FigureBook
from farm.report.page.findings import Findings
from farm.report.page.html import join, tag
from farm.report.page.section import PageSection

PARAGRAPHS = (
    (
        "What is done",
        "In-distribution images (ID) and faulty ones (OOD) go through the classifier, and every monitor "
        "watches the same single pass. A monitor gives each image a score; above its threshold it raises an "
        "alarm, and its policy cancels the decision (by default at each alarm). Monitors learn, and "
        "thresholds are set, on clean images of which none is in the benchmark.",
    ),
    (
        "Two verdicts",
        "Specific: was the image really faulty? An alarm on it is right, and so is none on a clean one. "
        "Overall: did cancelling help? It did if the classifier was wrong. An image of no known class has "
        "no right answer, so it should always be cancelled.",
    ),
    (
        "Numbers",
        "Matthews' correlation (MCC) is 1 for perfect verdicts, 0 for chance and below 0 for worse than "
        "chance. It compares monitors at one share of faulty images, not sets of different shares. Rates of "
        "instances that stand alone have Wilson's interval; where images share a track, whole tracks are "
        "drawn anew.",
    ),
    (
        "Which is better",
        "Over several sets, monitors are ranked on each and compared by Friedman's test, Nemenyi's critical "
        "difference and Wilcoxon's signed ranks with Holm's correction. On a single set, its instances are "
        "resampled by tracks. Runs that repeat a set with another seed are one set.",
    ),
    (
        "How sure",
        "A monitor is said to help surely only where chance says so in at most one report of twenty, from "
        "however many monitors it was chosen, in however many categories of faults.",
    ),
)
REFERENCES = (
    "R. S. Ferreira and others, Benchmarking Safety Monitors for Image Classifiers with Machine Learning, "
    "PRDC 2021.",
    "E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22, 1927.",
    "B. W. Matthews, Comparison of the predicted and observed secondary structure of T4 phage lysozyme, BBA "
    "405, 1975.",
    "J. Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006.",
    "S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics "
    "6, 1979.",
)


def method(found: Findings, book: FigureBook) -> PageSection:  # noqa: ARG001 - it draws nothing
    """Return the section."""
    # Of a log nobody knows how its monitors came about.
    ran = all(one.run.get("experiment") is not None for one in found.runs)
    told = [tag("p", tag("strong", f"{title}. "), text) for title, text in PARAGRAPHS[0 if ran else 1 :]]
    references = tag("ul", [tag("li", line) for line in REFERENCES], class_="note")
    return PageSection("method", "The method", join(told, tag("h3", "References"), references))
