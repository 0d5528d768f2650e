import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from farm.comparing.measures import CLASSIFIER
from farm.errors import ExperimentError
from farm.gate.criteria_file import parse_criteria
from farm.gate.criterion import parse_criterion
from farm.gate.measures import REPORTED
from farm.gate.reported import WHOLE, ReportedMeasure, selected_parts
from farm.gate.verdict import judge_criteria
from farm.measures import Measure, undefined
from farm.testing import make_readouts
from tests.wording import same_text


def found(measure, part, value, low=None, high=None, n=50):
    """A result of a protocol; without ends it is read off, and text is the reason why there is no number."""
    ends = [value, value if low is None else low, value if high is None else high]
    made = [undefined(end) if isinstance(end, str) else Measure(float(end)) for end in ends]
    return ReportedMeasure(measure, part, *made, n, n, "by hand")


RUN = make_readouts({"oob": [False] * 20}, is_ood=[False] * 10 + [True] * 10)
COVERED = [
    found("scenario_coverage", f"{split} k=2", value) for split, value in (("train", 0.8), ("test", 0.6))
]


def judged(results, *texts, **options):
    file = parse_criteria({"criteria": list(texts), **options}, "gate.yaml")
    return judge_criteria([RUN], file, reported=lambda level: results, place="runs/made")


def problem(results, text, **options):
    with pytest.raises(ExperimentError) as raised:
        judged(results, text, **options)
    return str(raised.value)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("text", "ends", "verdict"),
        [
            ("scenario_coverage >= 80 %", (0.8,), "pass"),
            ("scenario_coverage > 80 %", (0.8,), "fail"),
            ("scenario_coverage >= 100 %", (1.0,), "pass"),
            ("neuron_pattern <= 0.3", (0.2, 0.1, 0.3), "pass"),
            ("neuron_pattern <= 0.3", (0.2, 0.1, 0.31), "undecided"),
            ("neuron_pattern <= 0.3", (0.4, 0.31, 0.5), "fail"),
            ("adversarial_loss >= -0.2", (-0.1, -0.2, 0), "pass"),
            ("scenario.overall.mcc >= 0.25", (0.3, 0.2, 0.4), "undecided"),
            ("scenario.mtbf >= 100", (math.inf, 100, math.inf), "pass"),
            ("scenario.mtbf >= 200", (math.inf, 100, math.inf), "undecided"),
            ("scenario.mtbf >= 200", (50, 20, 199), "fail"),
            ("weighted_confusion <= 3.5", (2.5, 2, 3), "pass"),
            ("weighted_confusion <= 3.5", (2.5, "few", "few"), "undecided"),
            ("weighted_confusion <= 2.5", (2.5, 2, 3), "undecided"),
        ],
    )
    def test_bounds_are_judged_as_those_of_runs(self, text, ends, verdict):
        (one,) = judged([found(text.split()[0], "all", *ends)], text)
        assert (one.verdict, one.monitor, one.where, one.needed) == (verdict, CLASSIFIER, "part:all", None)
        assert (one.evidence.n, one.evidence.n_groups, one.evidence.n_ood) == (50, 50, None)
        assert (one.evidence.method, one.evidence.sets) == ("by hand", ())
        same_text(one.reason)

    @given(st.tuples(*[st.floats(0, 1e9) | st.just(math.inf)] * 3).map(sorted), st.floats(1e-3, 1e9))
    def test_the_end_on_the_bad_side_passes_and_the_other_one_fails(self, ends, bound):
        low, value, high = ends
        expected = "pass" if low >= bound else "fail" if high < bound else "undecided"
        (one,) = judged([found("scenario.mtbf", "all", value, low, high)], f"scenario.mtbf >= {bound!r}")
        assert (one.verdict, one.needed) == (expected, None)

    def test_each_criterion_asks_for_bounds_of_its_level_once(self):
        asked = []

        def reported(level):
            asked.append(level)
            return [found("neuron_pattern", "all", 0.2, 0.1, 0.2 + level / 10)]

        texts = [f"neuron_pattern <= {bound} at {level}" for bound, level in ((0.3, "99 %"), (0.4, "50 %"))]
        texts.append("neuron_pattern <= 0.3 on each part at 99 %")
        file = parse_criteria({"criteria": texts}, "gate.yaml")
        verdicts = judge_criteria([RUN], file, reported=reported)
        assert asked == [0.99, 0.5]
        assert [one.evidence.high.value for one in verdicts] == pytest.approx([0.299, 0.25, 0.299])
        assert [one.evidence.level for one in verdicts] == [0.99, 0.5, 0.99]

    def test_the_order_is_the_files(self):
        texts = ["scenario_coverage >= 0.5 on each part", "specific.fpr <= 0.9", "neuron_activation >= 0.1"]
        verdicts = judged([*COVERED, found("neuron_activation", "conv", 0.5)], *texts)
        assert [(one.criterion.measure, one.monitor, one.where) for one in verdicts] == [
            ("scenario_coverage", CLASSIFIER, 'part:"train k=2"'),
            ("scenario_coverage", CLASSIFIER, 'part:"test k=2"'),
            ("specific.fpr", "oob", "all sets"),
            ("neuron_activation", CLASSIFIER, "part:conv"),
        ]

    def test_what_has_no_value_is_by_the_files_rule(self):
        results = [found("scenario.mtbf", "rain", "no image", "no image", "no image", n=0)]
        (one,) = judged(results, "scenario.mtbf >= 3")
        assert (one.verdict, one.reason) == ("fail", "undefined: no image")
        same_text(problem(results, "scenario.mtbf >= 3", undefined="error"))


class TestParts:
    def test_the_one_that_is_named_word_by_word(self):
        (one,) = judged(COVERED, 'scenario_coverage >= 0.7 on part:"test k=2"')
        assert (one.verdict, one.evidence.value.value) == ("fail", 0.6)

    def test_each(self):
        verdicts = judged(COVERED, "scenario_coverage >= 0.7 on each part")
        assert [one.verdict for one in verdicts] == ["pass", "fail"]

    def test_none_where_there_is_one_alone(self):
        (one,) = judged([COVERED[1], found("neuron_activation", "conv", 0.9)], "scenario_coverage >= 0.7")
        assert one.where == 'part:"test k=2"'

    @pytest.mark.parametrize(
        ("text", "n"),
        [
            ("scenario_coverage >= 0.7", 2),
            ("scenario_coverage >= 0.7", 30),
            ('scenario_coverage >= 0.7 on part:"tset k=2"', 2),
            ("scenario_coverage >= 0.7 on part:conv", 30),
            ("neuron_activation >= 0.7", 2),
            ("neuron_activation >= 0.7", 0),
        ],
    )
    def test_what_is_not_there_is_told_with_what_is(self, text, n):
        more = [found("scenario_coverage", f"cell {i}", 0.5) for i in range(n - 2)]
        same_text(problem([*COVERED, *more] if n else [], text))

    @given(st.lists(st.text(min_size=1, max_size=9), min_size=2, max_size=9, unique=True))
    def test_a_part_is_found_by_how_it_is_called(self, parts):
        results = [found("scenario_coverage", part, i / 10) for i, part in enumerate(parts)]
        for one in results:
            criterion = parse_criterion(f"scenario_coverage >= 0.5 on {one.where}")
            assert selected_parts(criterion, lambda level: results, "here") == (one,)


def test_where_no_protocol_looked_it_is_told_which_does():
    file = parse_criteria({"criteria": ["scenario_coverage >= 0.9"]}, "gate.yaml")
    with pytest.raises(ExperimentError) as raised:
        judge_criteria([RUN], file, place="runs/a")
    same_text(str(raised.value))


@pytest.mark.parametrize(
    ("measure", "part"), [("overall.mcc", "all"), ("coverag", "all"), ("neuron_pattern", "")]
)
def test_a_result_has_a_known_measure_and_a_part(measure, part):
    with pytest.raises(ValueError, match=r"expected a measure of scenario_coverage, .*name of a part"):
        found(measure, part, 0.5)


def test_two_results_of_one_part_are_a_mistake_of_the_protocols():
    with pytest.raises(ValueError, match="two results on scenario_coverage are called 'train k=2'"):
        judged(
            [*COVERED, found("scenario_coverage", "train k=2", 0.9)], "scenario_coverage >= 0.5 on each part"
        )


def test_every_measure_can_be_judged():
    for name, known in REPORTED.items():
        worse = (max(known.lowest, -4.0) + min(known.highest, 4.0)) / 2
        relation = ">=" if known.higher_is_better else "<="
        (one,) = judged([found(name, "all", min(max(known.best, -5.0), 5.0))], f"{name} {relation} {worse}")
        assert one.verdict == "pass", name


def test_a_measure_of_which_nothing_was_found_has_no_parts_to_miss():
    gone = undefined("the images have no conditions")
    nothing = ReportedMeasure("scenario_coverage", WHOLE, gone, gone, gone, 0, 0, "")
    criterion = parse_criterion('scenario_coverage >= 90 % on part:"train k=2"')
    assert selected_parts(criterion, lambda level: [nothing], "a folder") == (nothing,)
