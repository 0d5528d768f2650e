from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from farm.comparing import MEASURES
from farm.comparing.measures import OF_CLASSIFIER
from farm.errors import ExperimentError
from farm.gate.criterion import Criterion, Defaults, parse_criterion
from farm.gate.measures import GATED, OF_RUNS, REPORTED
from farm.gate.selection import Condition, Selection
from farm.gate.shares import is_share_of_each
from tests.wording import refused, same_text


def of_part(name):
    return Selection(conditions=(Condition("part", ":", name),))


def problem(text, **options):
    """What is said of a criterion, without the place where it stands."""
    with pytest.raises(ExperimentError) as raised:
        parse_criterion(text, **options)
    told = str(raised.value)
    assert "\n" not in told
    start = f"criterion '{' '.join(text.split())}': "
    assert told.startswith(start)
    return told.removeprefix(start)


class TestWhatCanBeSaid:
    def test_a_bound_on_a_category(self):
        found = parse_criterion("overall.mcc >= 0.4 on category:noise")
        same_text(found.text)
        assert (found.measure, found.statistic, found.relation, found.bound) == (
            "overall.mcc",
            None,
            ">=",
            0.4,
        )
        assert found.selection == Selection(None, (Condition("category", ":", "noise"),))
        assert (found.baseline, found.margin, found.monitors, found.level) == (None, None, None, 0.95)

    def test_one_side(self):
        assert parse_criterion("specific.fpr <= 0.05 on id").selection == Selection("id")
        assert parse_criterion("specific.fnr <= 0.05 on ood").selection == Selection("ood")

    def test_several_conditions_hold_together(self):
        found = parse_criterion("residual_hazard <= 0.01 on ood faultload:fog severity<=3 workload:signs")
        assert found.selection == Selection(
            "ood",
            (
                Condition("faultload", ":", "fog"),
                Condition("severity", "<=", 3.0),
                Condition("workload", ":", "signs"),
            ),
        )

    def test_severities_have_relations_and_ranges(self):
        found = parse_criterion("overall.mcc > 0.1 on severity >= 2 severity<4")
        assert found.selection.conditions == (
            Condition("severity", ">=", 2.0),
            Condition("severity", "<", 4.0),
        )
        assert parse_criterion("overall.mcc > 0.1 on severity:3").selection.conditions == (
            Condition("severity", ":", 3.0),
        )

    @pytest.mark.parametrize(
        ("text", "measure", "statistic"),
        [
            ("monitor_time_us.p99 <= 500", "monitor_time_us", "p99"),
            ("monitor_time_us.p99.9 <= 500", "monitor_time_us", "p99.9"),
            ("monitor_time_us.mean <= 500", "monitor_time_us", "mean"),
            ("classifier_time_us.max <= 500", "classifier_time_us", "max"),
            ("detection_delay.p95 <= 10 on stream:onset", "detection_delay", "p95"),
            ("missed_onsets <= 5 %", "missed_onsets", None),
            ("false_alarms_per_1000 <= 2", "false_alarms_per_1000", None),
            ("monitor_bytes <= 1e6", "monitor_bytes", None),
        ],
    )
    def test_time_and_memory(self, text, measure, statistic):
        found = parse_criterion(text)
        assert (found.measure, found.statistic) == (measure, statistic)
        assert found.quantity == text.split()[0]

    def test_not_worse_than_a_baseline(self):
        found = parse_criterion("overall.mcc not worse than baseline:runs/main by 0.02")
        assert (found.relation, found.bound, found.baseline, found.margin) == (
            "not worse",
            None,
            "runs/main",
            0.02,
        )
        found = parse_criterion(
            'coverage not  worse than baseline:"my runs/b" on category:noise by 2 % at 99 %'
        )
        assert (found.baseline, found.margin, found.level) == ("my runs/b", 0.02, 0.99)

    def test_monitors_and_level(self):
        found = parse_criterion('overall.mcc >= 0.4 at 99.5% for oob, "my own",odin on id')
        assert (found.monitors, found.level) == (("oob", "my own", "odin"), 0.995)
        assert found.selection == Selection("id")

    @pytest.mark.parametrize(
        "text", ["risk <= 0.02 anytime on id at 99 %", "risk <= 2 % on id at 99 % anytime"]
    )
    def test_at_any_time(self, text):
        found = parse_criterion(text)
        assert (found.anytime, found.selection, found.level) == (True, Selection("id"), 0.99)
        assert str(found) == "risk <= 0.02 anytime on id at 99 %"
        assert found != parse_criterion("risk <= 0.02 on id at 99 %")

    def test_clauses_in_any_order(self):
        said = ["on category:noise", "for oob, odin", "at 99 %"]
        found = {parse_criterion(f"overall.mcc >= 0.4 {' '.join(o)}") for o in (said, said[::-1])}
        assert len(found) == 1

    def test_each_value_of_a_key(self):
        assert parse_criterion("overall.mcc >= 0.4 on each category").selection == Selection(each="category")
        found = parse_criterion("overall.mcc >= 0.4 on ood each severity severity<=3").selection
        assert found == Selection("ood", (Condition("severity", "<=", 3.0),), "severity")

    def test_names_in_quotes(self):
        found = parse_criterion(r'overall.mcc >= 0.4 on faultload:"my \"own\" fog, \\ 100 %"')
        assert found.selection.conditions[0].value == r'my "own" fog, \ 100 %'

    def test_names_that_begin_a_clause_stand_in_quotes(self):
        found = parse_criterion('overall.mcc >= 0.4 on workload:"for" for "at"')
        assert (found.selection.conditions[0].value, found.monitors) == ("for", ("at",))
        same_text(str(found))

    @pytest.mark.parametrize("sign", [">=", "≥"])
    def test_signs_and_spaces(self, sign):
        expected = parse_criterion("overall.mcc >= 0.4")
        assert parse_criterion(f"  overall.mcc{sign}0.4\n") == expected

    def test_percentages_are_shares(self):
        assert parse_criterion("specific.fpr ≤ 5 %").bound == 0.05
        assert parse_criterion("specific.fpr < 7%").bound == 0.07

    def test_defaults_hold_where_nothing_is_said(self):
        defaults = Defaults(0.99, ("oob",))
        found = parse_criterion("overall.mcc >= 0.4", defaults)
        assert (found.level, found.monitors) == (0.99, ("oob",))
        found = parse_criterion("overall.mcc >= 0.4 for odin at 90 %", defaults)
        assert (found.level, found.monitors) == (0.9, ("odin",))
        assert parse_criterion("classifier_time_us.p99 <= 3", defaults).monitors is None

    @pytest.mark.parametrize(
        ("text", "bound", "selection"),
        [
            ("scenario_coverage >= 100 %", 1.0, Selection()),
            ("neuron_activation >= 1 on each part", 1.0, Selection(each="part")),
            ('scenario_coverage > 0 on part:"train k=2"', 0.0, of_part("train k=2")),
            ("adversarial_loss >= -0.2 on part:fgsm", -0.2, of_part("fgsm")),
            ("weighted_confusion <= 3.5", 3.5, Selection()),
            ("weighted_confusion <= 1e12", 1e12, Selection()),
            ("scenario.mtbf >= 1e12", 1e12, Selection()),
            ("scenario.mtbf > 0", 0.0, Selection()),
            ('scenario.overall.mcc >= -0.5 on part:"oob, rain"', -0.5, of_part("oob, rain")),
            ("scenario.classifier_brier_sum <= 1.5", 1.5, Selection()),
        ],
    )
    def test_what_a_protocol_finds(self, text, bound, selection):
        found = parse_criterion(text, Defaults(monitors=("oob",)))
        assert (found.bound, found.selection, found.monitors) == (bound, selection, None)
        assert found.measure == text.split()[0]

    @pytest.mark.parametrize("measure", [*MEASURES, *OF_CLASSIFIER])
    def test_in_scenarios_each_measure_has_its_own_range_and_good_end(self, measure):
        own, of_scenarios = GATED[measure], GATED[f"scenario.{measure}"]
        assert (of_scenarios.best, of_scenarios.worst) == (own.best, own.worst)
        assert of_scenarios.is_share == own.is_share
        assert (of_scenarios.kind, of_scenarios.of_monitors, of_scenarios.needs) == (
            "reported",
            False,
            frozenset(),
        )

    @pytest.mark.parametrize("measure", sorted(MEASURES))
    def test_all_that_is_compared_can_be_asked_for(self, measure):
        known = GATED[measure]
        assert known.higher_is_better == MEASURES[measure]
        relation = ">=" if known.higher_is_better else "<="
        assert parse_criterion(f"{measure} {relation} 0.5").gated is known


class TestWhatMakesNoSense:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("overall.mc >= 0.4", "measure 'overall.mc' is not known; did you mean 'overall.mcc'?"),
            (
                "monitor_time.p99 <= 3",
                "measure 'monitor_time.p99' is not known; did you mean 'monitor_time_us'?",
            ),
            ("overall.mcc.p99 >= 0", "measure 'overall.mcc.p99' is not known; did you mean 'overall.mcc'?"),
            ("", "it is empty; expected a measure first, such as in 'overall.mcc >= 0.4 on category:noise'"),
            (">= 0.4", "it begins with '>='; expected a measure first"),
            ("overall.mcc", "it ends after 'overall.mcc'; expected >=, <=, >, < or 'not worse than'"),
            ("overall.mcc == 0.4", "'==' after 'overall.mcc'; expected >=, <=, >, < or 'not worse than'"),
            ("overall.mcc not better than 1", "'not' after 'overall.mcc'; expected >=, <=, >, <"),
            ("overall.mcc >=", "it ends after '>='; expected the bound, a number"),
            ("overall.mcc >= high", "'high' after '>='; expected the bound, a number"),
            ("overall.mcc >= 0.4x", "'0.4x' after '>='; expected the bound, a number"),
            ("overall.mcc >= ٤", "'٤' after '>='; expected the bound, a number"),
            ("overall.mcc >= 1e999", "the bound is '1e999'; expected a finite number"),
            ("overall.mcc >= 40 %", "the bound is '40 %'; expected a number that is not in per cent"),
            ("monitor_time_us.p99 <= 5 %", "the bound is '5 %'; expected a number that is not in per cent"),
            ("overall.mcc >= 0.4 fo oob", "'fo' after '0.4'; expected 'anytime', 'on', 'for', 'at' or"),
            ("overall.mcc >= 0.4 for", "it ends after 'for'; expected a monitor"),
            ("overall.mcc >= 0.4 for oob,", "it ends after ','; expected a monitor"),
            ("overall.mcc >= 0.4 for oob odin", "'odin' after 'oob'; expected 'anytime', 'on', 'for', 'at'"),
            ("overall.mcc >= 0.4 for oob, oob", "monitor 'oob' is named twice; expected it once"),
            ("overall.mcc >= 0.4 at", "it ends after 'at'; expected the level, a number"),
            ("overall.mcc >= 0.4 at 99", "the level is 99; expected at least 50 % and less than 100 %"),
            ("overall.mcc >= 0.4 at 5 %", "the level is 0.05; expected at least 50 % and less than 100 %"),
            ("overall.mcc >= 0.4 at 99 % at 95 %", "'at' stands there twice; expected it once"),
            ("overall.mcc >= 0.4 by 0.1", "'by' belongs to 'not worse than'; leave it out"),
        ],
    )
    def test_what_cannot_be_read(self, text, told):
        assert problem(text).startswith(told)

    @pytest.mark.parametrize(
        ("on", "told"),
        [
            ("", "it ends after 'on'; expected what it is about, such as 'on category:noise'"),
            ("for oob", "'for' after 'on'; expected what it is about"),
            ("noise", "'noise' after 'on' is no condition; expected one such as category:noise"),
            ("categry:noise", "key 'categry' is not known; did you mean 'category'?"),
            ("each catgory", "key 'catgory' is not known; did you mean 'category'?"),
            ("each", "it ends after 'each'; expected a key"),
            ("each category each workload", "'each' stands there twice"),
            ("category=noise", "'=noise' after 'category'; expected a condition such as category:VALUE"),
            ("category<=3", "'3' after '<='; expected a condition such as category:VALUE"),
            ("category:", "it ends after ':'; expected a category"),
            ('category:"', "'\"' after ':'; expected a category, in double quotes where it has spaces"),
            ('category:""', "'\"\"' after ':'; expected a category"),
            ('category:"my fog', "'\"my' after ':'; expected a category"),
            ("severity:high", "'high' after ':'; expected the severity, a number"),
            ("severity<=3 %", "the severity is '3 %'; expected a number that is not in per cent"),
            ("id ood", "'id' and 'ood' at once; leave both out to have all instances"),
            ("category:a category:b", "'category:a' and 'category:b' cannot both hold"),
            ("category:a category:a", "'category:a' and 'category:a' cannot both hold"),
            ("category:a each category", "'each category' beside one category; expected one of them"),
            ("severity<2 severity>=2", "'severity<2' and 'severity>=2' cannot both hold"),
            ("severity:2 severity>2", "'severity:2' and 'severity>2' cannot both hold"),
            ("severity<1 severity>3", "'severity<1' and 'severity>3' cannot both hold"),
        ],
    )
    def test_selections(self, on, told):
        assert problem(f"overall.mcc >= 0.4 on {on}".strip()).startswith(told)

    def test_severities_that_leave_one_number_are_fine(self):
        for place in ("severity>=2 severity<=2", "severity>2 severity<3", "severity:2 severity<3"):
            assert len(parse_criterion(f"overall.mcc >= 0.4 on {place}").selection.conditions) == 2

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("overall.mcc >= 1.4", "it can never be met: overall.mcc is from -1 to 1"),
            ("overall.mcc > 1", "it can never be met: overall.mcc is from -1 to 1"),
            ("overall.mcc >= -1", "it can never fail: overall.mcc is from -1 to 1"),
            ("overall.mcc > -1.5", "it can never fail: overall.mcc is from -1 to 1"),
            ("specific.fpr <= 1", "it can never fail: specific.fpr is from 0 to 1"),
            ("specific.fpr <= 100 %", "it can never fail: specific.fpr is from 0 to 1"),
            ("specific.fpr < 0", "it can never be met: specific.fpr is from 0 to 1"),
            ("specific.fpr <= -0.1", "it can never be met: specific.fpr is from 0 to 1"),
            ("coverage >= 0", "it can never fail: coverage is from 0 to 1"),
            ("false_alarms_per_1000 <= 1000", "it can never fail: false_alarms_per_1000 is from 0 to 1000"),
            ("detection_delay.p95 < 0", "it can never be met: detection_delay is from 0 to inf"),
        ],
    )
    def test_bounds_out_of_range(self, text, told):
        assert problem(text) == told

    def test_bounds_at_the_ends_that_make_sense(self):
        for text in (
            "overall.mcc > -1",
            "specific.fpr < 1",
            "detection_delay.p95 <= 0",
            "monitor_bytes <= 0",
        ):
            assert parse_criterion(text).bound == float(text.split()[2])

    @pytest.mark.parametrize(
        ("text", "value", "way"),
        [
            ("specific.fpr <= 0", "specific.fpr is 0", "above"),
            ("overall.mcc >= 1", "overall.mcc is 1", "below"),
            ("missed_onsets <= 0", "missed_onsets is 0", "above"),
        ],
    )
    def test_no_sample_shows_perfection(self, text, value, way):
        assert problem(text) == (
            f"it can never be met: no number of instances shows that {value} exactly; expected a bound "
            f"{way} it"
        )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (
                "specific.fpr >= 0.1",
                "lower specific.fpr is better, and '>=' asks for a bad one; expected '<='",
            ),
            ("overall.mcc < 0.1", "higher overall.mcc is better, and '<' asks for a bad one; expected '>='"),
        ],
    )
    def test_the_bad_direction(self, text, told):
        assert problem(text).startswith(told)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (
                "monitor_time_us <= 3",
                "'monitor_time_us' has a value for each instance; say which is meant: p50",
            ),
            ("detection_delay <= 3", "'detection_delay' has a value for each onset; say which is meant: p50"),
            (
                "monitor_time_us.p9 <= 3",
                "'p9' of monitor_time_us is not known; expected p50 to p99.9, mean or",
            ),
            ("monitor_time_us.p99.99 <= 3", "'p99.99' of monitor_time_us is not known"),
            ("monitor_time_us.median <= 3", "'median' of monitor_time_us is not known"),
            ("detection_delay.mean <= 3", "'mean' of detection_delay is not known; expected p50 to p99.9"),
        ],
    )
    def test_statistics(self, text, told):
        assert problem(text).startswith(told)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("specific.fnr <= 0.1 on id", "cannot be judged on id: specific.fnr is a share of OOD instances"),
            ("specific.recall >= 0.1 on id", "cannot be judged on id: specific.recall is a share of OOD"),
            (
                "specific.fpr <= 0.1 on ood",
                "cannot be judged on ood: specific.fpr is a share of ID instances",
            ),
            (
                "specific.mcc >= 0.1 on ood",
                "cannot be judged on ood: specific.mcc needs ID and OOD instances",
            ),
            ("auroc >= 0.9 on id", "cannot be judged on id: auroc needs ID and OOD instances"),
            ("detection_delay.p95 <= 3 on ood", "cannot be judged on ood: detection_delay is measured along"),
            ("false_alarms_per_1000 <= 3 on id", "cannot be judged on id: false_alarms_per_1000 is measured"),
            ("monitor_bytes <= 300 on id", "cannot be judged on id: monitor_bytes is the same whatever"),
        ],
    )
    def test_sides_that_a_measure_is_not_of(self, text, told):
        assert problem(text).startswith(told)

    def test_sides_that_a_measure_is_of(self):
        for text in (
            "specific.fpr <= 0.1 on id",
            "specific.fnr <= 0.1 on ood",
            "specific.error <= 0.1 on ood",
            "overall.mcc >= 0.4 on id",
            "residual_hazard <= 0.1 on ood",
            "monitor_time_us.p99 <= 3 on ood",
        ):
            assert parse_criterion(text).selection.side == text.split()[-1]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (
                "overall.mcc not worse than runs/a by 1",
                "'runs/a' after 'not worse than'; expected a baseline",
            ),
            ("overall.mcc not worse than baseline:", "it ends after 'baseline:'; expected a run's folder"),
            ("overall.mcc not worse than baseline:a", "'by' is missing: by how much it may be worse"),
            (
                "overall.mcc not worse than baseline:a by 2",
                "it can never fail: overall.mcc is from -1 to 1, and",
            ),
            (
                "specific.fpr not worse than baseline:a by 100 %",
                "it can never fail: specific.fpr is from 0 to",
            ),
            ("overall.mcc not worse than baseline:a by -1", "the margin is -1; expected at least 0"),
            (
                "overall.mcc not worse than baseline:a by 2 %",
                "the margin is '2 %'; expected a number that is",
            ),
            (
                "auroc not worse than baseline:a by 0.1",
                "auroc cannot be compared with a baseline, which keeps",
            ),
            ("monitor_time_us.p99 not worse than baseline:a by 3", "monitor_time_us.p99 cannot be compared"),
            ("system_mcc not worse than baseline:a by 0.1", "system_mcc cannot be compared with a baseline"),
        ],
    )
    def test_baselines(self, text, told):
        assert problem(text).startswith(told)

    @pytest.mark.parametrize(
        "text",
        [
            "coverage not worse than baseline:a by 0.1 anytime",
            "monitor_time_us.p99 <= 3 anytime",
            "overall.mcc >= 0.4 anytime",
            "safety_gain >= 0.1 anytime",
            "missed_onsets <= 0.1 anytime",
            "scenario.coverage >= 0.9 anytime",
            "coverage >= 0.9 anytime anytime",
        ],
    )
    def test_what_cannot_be_bounded_at_any_time(self, text):
        same_text(problem(text))

    def test_what_is_not_of_monitors(self):
        same_text(problem("classifier_time_us.p99 <= 3 for oob"))

    @pytest.mark.parametrize(
        "text",
        [
            "scenario.overall.mc >= 0.4",
            "scenario_coverage <= 0.9",
            "scenario_coverage > 1",
            "scenario_coverage >= 0",
            "neuron_pattern <= 0",
            "interpretation_precision >= 1",
            "adversarial_loss >= -1",
            "adversarial_loss >= 5 %",
            "weighted_confusion <= 5 %",
            "weighted_confusion < 0",
            "scenario.mtbf >= 0",
            "scenario.mtbf > -1",
            "scenario.overall.mcc >= 40 %",
            "scenario.classifier_brier_mean <= 5 %",
            "scenario_coverage >= 0.9 for oob",
            "scenario.overall.mcc >= 0.4 for oob",
            "scenario.overall.mcc not worse than baseline:a by 0.02",
            "scenario_coverage >= 0.9 on ood",
            "scenario_coverage >= 0.9 on faultload:fog part:train",
            "scenario_coverage >= 0.9 on each category",
            "scenario_coverage >= 0.9 on each part part:train",
            "scenario_coverage >= 0.9 on part:",
            "scenario_coverage >= 0.9 on part<=3",
            "overall.mcc >= 0.4 on part:train",
            "overall.mcc >= 0.4 on each part",
            "classifier_accuracy >= 0.4 on each part",
        ],
    )
    def test_what_a_protocol_does_not_find_like_that(self, text):
        same_text(problem(text))

    def test_names_with_line_breaks_are_told_on_one_line(self):
        text = 'overall.mcc >= 0.4 for "a\nb", "a\nb"'
        same_text(problem(text))

    def test_the_place_is_told(self):
        with refused(ExperimentError):
            parse_criterion("overall.mcc", place="gate.yaml: criterion 3")
        found = parse_criterion("overall.mcc  >=  0.4", place="gate.yaml: criterion 3")
        same_text(str(found.error("too bad")))

    @pytest.mark.parametrize(
        "change",
        [
            {"measure": "mcc"},
            {"bound": float("nan")},
            {"bound": None},
            {"margin": 0.1},
            {"statistic": "p99"},
            {"baseline": "a"},
            {"relation": "not worse"},
            {"relation": "not worse", "bound": None, "baseline": "a", "margin": float("nan")},
            {"monitors": ()},
            {"level": 1.0},
            {"selection": Selection(conditions=(Condition("severity", ":", "3"),))},
            {"selection": Selection(conditions=(Condition("category", ":", ""),))},
            {"selection": Selection(each="month")},
        ],
    )
    def test_one_made_by_hand_has_to_make_sense_too(self, change):
        with refused(ExperimentError):
            replace(parse_criterion("overall.mcc >= 0.4"), **change)


NAMES = st.text(min_size=1, max_size=12)
LEVELS = st.floats(0.5, 1, exclude_max=True)


@st.composite
def conditions(draw):
    keys = draw(
        st.lists(st.sampled_from(["category", "faultload", "workload", "seed", "stream"]), unique=True)
    )
    found = [Condition(key, ":", draw(NAMES)) for key in keys]
    if draw(st.booleans()):
        number = draw(st.floats(allow_nan=False, allow_infinity=False))
        found.append(Condition("severity", draw(st.sampled_from([":", "<=", ">=", "<", ">"])), number))
    return tuple(draw(st.permutations(found)))


@st.composite
def criteria(draw):
    known = draw(st.sampled_from(sorted(GATED.values(), key=lambda each: each.name)))
    statistic = draw(st.sampled_from(["p50", "p99.9"])) if known.is_distribution else None
    sides = [side for side in (None, "id", "ood") if known.refuses(side) is None]
    if known in REPORTED.values():
        selections = st.just(Selection(each="part")) | st.just(Selection()) | NAMES.map(of_part)
        selection = draw(selections)
    else:
        of = conditions().map(lambda found: Selection(draw(st.sampled_from(sides)), found, None))
        selection = draw(of)
        free = {"category", "classifier", "severity"} - {one.key for one in selection.conditions}
        if draw(st.booleans()):
            selection = replace(selection, each=draw(st.sampled_from(sorted(free))))
    top = min(known.highest, 1e9)
    inside = st.floats(known.lowest, top, exclude_min=True, exclude_max=True)
    names = st.lists(NAMES, min_size=1, max_size=3, unique=True).map(tuple)
    made = {
        "text": "",
        "measure": known.name,
        "statistic": statistic,
        "monitors": draw(st.none() | names) if known.of_monitors else None,
        "selection": selection,
        "level": draw(LEVELS),
    }
    if known.kind in ("rate", "mcc", "f1") and known.of_monitors and draw(st.booleans()):
        return Criterion(relation="not worse", baseline=draw(NAMES), margin=abs(draw(inside)), **made)
    relation = draw(st.sampled_from([">=", ">"] if known.higher_is_better else ["<=", "<"]))
    made["anytime"] = known.name in OF_RUNS and is_share_of_each(known.name) and draw(st.booleans())
    return Criterion(relation=relation, bound=draw(inside), **made)


@settings(max_examples=200)
@given(criteria())
def test_written_out_it_is_parsed_as_the_same_again(criterion):
    again = parse_criterion(str(criterion))
    assert again == criterion
    assert str(again) == str(criterion)


WORDS = st.sampled_from(
    [
        *("overall.mcc", "specific.fpr", "monitor_time_us.p99", "detection_delay", "not worse than", "by"),
        *(">=", "<=", "≤", "=", "0.4", "5 %", "-1", "1e-3", "on", "for", "at", "each", "id", "ood", ","),
        "anytime",
        *(
            "scenario_coverage",
            "part:",
            "category:",
            "severity",
            "noise",
            '"my fog"',
            '"',
            "\\",
            "baseline:",
            "runs/main",
            "²",
            "\n",
        ),
    ]
)


@given(st.text() | st.lists(WORDS | st.text(max_size=3)).map(" ".join) | st.lists(WORDS).map("".join))
def test_no_text_does_more_harm_than_an_error(text):
    said = ""
    try:
        found = parse_criterion(text)
    except ExperimentError as error:
        said = str(error)
    else:
        assert parse_criterion(str(found)) == found
    assert "\n" not in said
