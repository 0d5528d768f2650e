"""The pytest plugin: it does nothing until it is used, and then what it says fails is what the gate fails."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch  # noqa: F401 - an inner session forgets what it imports, and torch cannot be imported twice

from farm.testing import assert_monitor, plugin
from tests.testing.tiny_benchmark import tiny_benchmark, write_tiny
from tests.wording import same_text

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "monitor-tests.md"
ON_TINY = """
import pytest
from collections.abc import Iterable
from pathlib import Path

@pytest.fixture(scope="session")
def farm_experiment():
    return "tiny.yaml"
"""


@pytest.fixture(scope="module", autouse=True)
def everything_is_imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import here whatever a failing assertion needs: inner sessions forget their own imports."""
    tiny_benchmark().run("energy", "never")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin, "_running", [])
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        with pytest.raises(AssertionError):
            assert_monitor("max-softmax").overall.mcc.at_least(0.999)


@pytest.fixture(autouse=True)
def as_on_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a CI service: there pytest tells every failure whole, and again in its summary."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def on_tiny(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return an empty project that tests on made-up images."""
    write_tiny(pytester.path / "tiny.yaml")
    pytester.makeconftest(ON_TINY)
    return pytester


def run_in(project: pytest.Pytester, test: str, *options: str, **outcomes: int) -> str:
    """Run one file of tests in this process; give what was written."""
    project.makepyfile(test)
    result = project.runpytest_inprocess("--strict-markers", "-p", "no:cacheprovider", *options)
    result.assert_outcomes(**outcomes)
    return str(result.stdout)


def failures(told: str) -> str:
    """Take what is said of failures, without versions, source and times."""
    sections = told.split("= FAILURES =")[1].partition("\n")[2]
    return sections.split("= short test summary info =")[0].rpartition("\n")[0]


def errors(told: str) -> list[str]:
    """Take the lines that tell what was raised, of tracebacks that show source too."""
    return [line for line in told.splitlines() if line.startswith("E ")]


# Inert ------------------------------------------------------------------------------------------------------


def test_it_imports_nothing_of_the_testbed() -> None:
    code = """
        import sys
        import pytest
        before = set(sys.modules)
        import farm.testing.plugin
        print(sorted(set(sys.modules) - before))
    """
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(line.strip() for line in code.splitlines())],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['farm', 'farm.testing', 'farm.testing.plugin']"


def test_a_session_that_does_not_use_it_is_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_of_it():
            assert "farm.testing.plugin" in sys.modules
            ours = {name for name in sys.modules if name.split(".")[0] in ("farm", "monitors", "models")}
            assert ours == {"farm", "farm.testing", "farm.testing.plugin"}
            assert not {"torch", "numpy", "pandas", "sklearn"} & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess("--strict-markers", "--strict-config", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert "farm" not in "\n".join(
        line for line in result.outlines if not line.startswith(("rootdir", "plugins"))
    )


def test_the_marker_is_known(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.farm_criteria(*criteria, file=None, undecided='fail')*"])


def test_which_test_runs_is_known_and_put_back(
    pytester: pytest.Pytester, request: pytest.FixtureRequest
) -> None:
    assert plugin.running() is request.node
    told = run_in(
        pytester,
        """
        from farm.testing import plugin

        def test_inner(request):
            assert plugin.running() is request.node
        """,
        passed=1,
    )
    assert told
    assert plugin.running() is request.node


# Fixtures ---------------------------------------------------------------------------------------------------


def test_the_fixtures_are_of_one_benchmark(on_tiny: pytest.Pytester) -> None:
    run_in(
        on_tiny,
        """
        def test_all(farm_workload, farm_classifier, farm_stream, farm_run, farm_benchmark):
            assert farm_workload.name == "tiny"
            assert farm_classifier.classes == farm_workload.classes == farm_stream.classes
            readouts = farm_run("energy", {"name": "energy", "as": "mine"})
            assert len(readouts.instances) == farm_stream.length == 1920
            assert set(readouts.alarms["monitor"]) == {"energy", "mine"}
            assert farm_benchmark.made_stream_of(readouts)
        """,
        passed=1,
    )


def test_results_are_remembered_from_test_to_test(on_tiny: pytest.Pytester) -> None:
    run_in(
        on_tiny,
        """
        from farm.testing.fakes import FakeMonitor
        import pytest

        fits = []
        MINE = FakeMonitor(fit=lambda data: fits.append(1) or {}, name="mine")

        @pytest.fixture(scope="session")
        def readouts(farm_run):
            return farm_run(MINE)

        def test_first(readouts):
            assert fits == [1]

        def test_second(farm_run, readouts):
            assert farm_run(MINE).alarms.equals(readouts.alarms)
            assert fits == [1]
        """,
        passed=2,
    )


def test_images_can_be_ones_own(on_tiny: pytest.Pytester) -> None:
    run_in(
        on_tiny,
        """
        import pytest
        from farm.testing.fakes import tiny_workload

        @pytest.fixture(scope="session")
        def farm_workload():
            return tiny_workload(classes=("pear", "quince", "rowan"), name="fruit")

        def test_they_are(farm_run, farm_classifier):
            assert farm_classifier.classes == ("pear", "quince", "rowan")
            assert farm_run("energy").run["workload"]["name"] == "fruit"
        """,
        passed=1,
    )


def test_several_experiments_are_a_parameter(on_tiny: pytest.Pytester) -> None:
    write_tiny(on_tiny.path / "other.yaml", seed=3)
    run_in(
        on_tiny,
        """
        import pytest

        @pytest.fixture(scope="session", params=["tiny.yaml", "other.yaml"])
        def farm_experiment(request):
            return request.param

        def test_seed(farm_run, farm_experiment):
            assert farm_run("energy").run["seed"] == {"tiny.yaml": 0, "other.yaml": 3}[farm_experiment]
        """,
        passed=2,
    )


def test_another_override_in_the_same_session_never_gets_the_wrong_data(on_tiny: pytest.Pytester) -> None:
    write_tiny(on_tiny.path / "other.yaml", seed=3)
    told = run_in(
        on_tiny,
        """
        import pytest
        from farm.testing import assert_monitor

        def test_on_tiny(farm_run):
            assert farm_run("energy").run["seed"] == 0

        class TestOther:
            @pytest.fixture(scope="session")
            def farm_experiment(self):
                return "other.yaml"

            def test_through_a_fixture(self, farm_run):
                assert farm_run("energy").run["seed"] == 3

            def test_through_the_stream_alone(self, farm_stream):
                assert farm_stream.length

            def test_through_an_assertion(self):
                assert_monitor("energy").overall.mcc.at_least(-0.9)
        """,
        passed=1,
        failed=3,
    )
    assert told.count("farm_experiment or farm_workload is overridden in another way for this test") >= 3


def test_a_mistake_in_the_experiment_is_said_in_one_line(on_tiny: pytest.Pytester) -> None:
    write_tiny(on_tiny.path / "tiny.yaml", classifier="farm.testing.fakes:TinyModl")
    told = run_in(on_tiny, "def test_it(farm_run): farm_run('energy')", errors=1)
    same_text(errors(told))


def test_a_monitor_that_fails_fails_the_test(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        from farm.testing.fakes import FakeMonitor

        def test_it(farm_run):
            farm_run(FakeMonitor(fit=lambda data: 1 / 0, name="broken"))
        """,
        failed=1,
    )
    same_text(errors(told))


# The marker -------------------------------------------------------------------------------------------------


def test_criteria_pass_and_fail_with_their_evidence(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest

        @pytest.mark.farm_criteria("overall.mcc >= 0.5 on category:novelty", "specific.fpr <= 20 % on id")
        def test_good(farm_run):
            farm_run("energy")

        @pytest.mark.farm_criteria(
            "overall.mcc >= 0.5 on category:novelty", "overall.mcc >= 0.99 on each category"
        )
        def test_bad(farm_run):
            farm_run("energy", "max-softmax")
        """,
        passed=1,
        failed=1,
    )
    same_text(failures(told))
    assert "overall.mcc >= 0.5 on category:novelty [energy]" not in told
    assert "lower bound:" in told
    pictures = [Path(line.split("pictures:")[1].strip()) for line in told.splitlines() if "pictures:" in line]
    assert len(pictures) == len(set(pictures)) == 5
    assert all(path.is_file() and path.parts[-4].startswith("test_bad") for path in pictures)
    assert "Traceback" not in told
    assert "pytest_runtest_call" not in told


def test_markers_of_a_class_and_of_its_test_hold_both(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest

        @pytest.mark.farm_criteria("specific.recall >= 0.999 on category:noise")
        class TestBoth:
            @pytest.mark.farm_criteria("overall.mcc >= 0.99 on category:novelty")
            def test_it(self, farm_run):
                farm_run("max-softmax")
        """,
        failed=1,
    )
    assert "[max-softmax]: FAIL" in told
    assert told.count("[max-softmax]: FAIL") == 2


def test_undecided_fails_unless_it_may_pass(on_tiny: pytest.Pytester) -> None:
    found = assert_undecided_bound()
    (on_tiny.path / "lenient.yaml").write_text(
        f"undecided: pass\ncriteria: ['overall.mcc >= {found} on category:novelty']\n", encoding="utf-8"
    )
    (on_tiny.path / "neutral.yaml").write_text(
        f"criteria: ['overall.mcc >= {found} on category:novelty']\n", encoding="utf-8"
    )
    told = run_in(
        on_tiny,
        f"""
        import pytest

        CRITERION = "overall.mcc >= {found} on category:novelty"

        @pytest.mark.farm_criteria(CRITERION)
        def test_strict(farm_run):
            farm_run("max-softmax")

        @pytest.mark.farm_criteria(CRITERION, undecided="pass")
        def test_lenient(farm_run):
            farm_run("max-softmax")

        @pytest.mark.farm_criteria(file="lenient.yaml")
        def test_lenient_file(farm_run):
            farm_run("max-softmax")

        @pytest.mark.farm_criteria(file="lenient.yaml", undecided="fail")
        def test_strict_again(farm_run):
            farm_run("max-softmax")

        @pytest.mark.farm_criteria(file="neutral.yaml")
        def test_neutral_file(farm_run):
            farm_run("max-softmax")
        """,
        passed=2,
        failed=3,
    )
    assert told.count("not enough data") >= 3


def assert_undecided_bound() -> float:
    """Return a bound that the tiny benchmark does not decide for max-softmax."""
    from farm.gate.criteria_file import parse_criteria
    from farm.gate.verdict import judge_criteria

    file = parse_criteria({"criteria": ["overall.mcc >= 0.4 on category:novelty"]}, "f")
    (judged,) = judge_criteria([tiny_benchmark().run("max-softmax")], file)
    return round((judged.evidence.low.value + judged.evidence.high.value) / 2, 4)


def test_a_second_attempt_is_judged_by_itself(on_tiny: pytest.Pytester) -> None:
    on_tiny.makeconftest(
        ON_TINY
        + """
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    first = runtestprotocol(item, log=False, nextitem=None)
    assert [report.outcome for report in first] == ["passed", "failed", "passed"]
    runtestprotocol(item, nextitem=nextitem)
    return True
"""
    )
    run_in(
        on_tiny,
        """
        import pytest

        monitors = iter(["never", "energy"])

        @pytest.mark.farm_criteria("specific.recall >= 0.5 on category:novelty")
        def test_it(farm_run):
            farm_run(next(monitors))
        """,
        passed=1,
    )


def test_criteria_that_nothing_was_run_for_fail(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest

        @pytest.mark.farm_criteria("overall.mcc >= 0.1")
        def test_nothing():
            pass
        """,
        failed=1,
    )
    same_text(failures(told))


def test_mistakes_in_the_marker_are_told_before_the_test_runs(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest
        from pathlib import Path

        def mistaken(*criteria, **options):
            @pytest.mark.farm_criteria(*criteria, **options)
            def test(tmp_path):
                Path("the test ran").touch()
            return test

        test_measure = mistaken("overall.mcq >= 0.4")
        test_nothing = mistaken()
        test_key = mistaken("overall.mcc >= 0.4", undecide="pass")
        test_undecided = mistaken("overall.mcc >= 0.4", undecided="maybe")
        test_file = mistaken(file="criteria.yaml")
        test_type = mistaken(0.4)
        """,
        failed=6,
    )
    same_text(failures(told))
    assert not (on_tiny.path / "the test ran").exists()


def test_a_criterion_that_nothing_matches_fails_the_test(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest

        @pytest.mark.farm_criteria("overall.mcc >= 0.1 on category:nois")
        def test_it(farm_run):
            farm_run("energy")
        """,
        failed=1,
    )
    same_text(failures(told))


def test_criteria_stand_beside_what_else_a_test_says(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest

        @pytest.mark.xfail(strict=True, reason="known")
        @pytest.mark.farm_criteria("overall.mcc >= 0.999")
        def test_expected_to_fail(farm_run):
            farm_run("energy")

        @pytest.mark.farm_criteria("overall.mcc >= 0.999")
        def test_skipped(farm_run):
            farm_run("energy")
            pytest.skip("on second thoughts")

        @pytest.mark.farm_criteria("overall.mcc >= 0.999")
        def test_own_failure(farm_run):
            farm_run("energy")
            assert 1 == 2
        """,
        xfailed=1,
        skipped=1,
        failed=1,
    )
    assert "assert 1 == 2" in told
    assert "[energy]: FAIL" not in told


# assert_monitor in a test -----------------------------------------------------------------------------------


def test_an_assertion_is_about_the_benchmark_of_the_test(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        from farm.testing import assert_monitor

        def test_good():
            assert_monitor("energy").on("textures").overall.mcc.at_least(0.5)

        def test_bad(tmp_path):
            (tmp_path / "farm-failures" / "1").mkdir(parents=True)
            assert_monitor("energy").on("noise").overall.mcc.at_least(0.5)
        """,
        passed=1,
        failed=1,
    )
    same_text(errors(told))
    (line,) = {line.split("pictures:")[1].strip() for line in told.splitlines() if "pictures:" in line}
    path = Path(line)
    assert path.is_file()
    assert path.parts[-3:] == ("farm-failures", "2", "mistakes.png")
    assert path.parts[-4].startswith("test_bad")
    assert ">       assert_monitor" in told
    assert "assertions.py" not in told, "the traceback ends in the test"


UNSAID = "asserts nothing as yet"


def test_a_sentence_that_never_says_how_good_fails_the_test(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest
        from farm.testing import assert_monitor
        from farm.testing.fakes import FakeMonitor

        def test_measure():
            assert_monitor("energy").on("novelty", "noise").overall.mcc

        def test_low_is_good():
            assert_monitor(FakeMonitor(name="mine")).level(0.99).specific.fpr

        def test_no_measure():
            assert_monitor({"name": "odin", "temperature": 10}).on("novelty").overall

        def test_no_statistic():
            assert_monitor(FakeMonitor).monitor_time_us

        def test_two_of_a_prefix():
            said = assert_monitor("energy").on("noise")
            said.overall.mcc.at_least(-0.9)
            said.specific.fpr
            said.auroc

        @pytest.mark.farm_criteria("overall.mcc >= -0.9")
        def test_beside_the_marker(farm_run):
            farm_run("energy")
            assert_monitor("energy")
        """,
        failed=6,
    )
    for line in (
        f"assert_monitor('energy').on('novelty', 'noise').overall.mcc {UNSAID}: expected .at_least(...) to",
        f"assert_monitor(FakeMonitor).specific.fpr {UNSAID}: expected .at_most(...) to follow",
        f"assert_monitor({{'name': 'odin', 'temperature': 10}}).on('novelty').overall {UNSAID}: "
        "expected a measure (.mcc, ",
        f"assert_monitor(FakeMonitor).monitor_time_us {UNSAID}: expected a measure (.p50, ",
        f"assert_monitor('energy').on('noise').specific.fpr {UNSAID}: expected .at_most(...) to follow; "
        f"assert_monitor('energy').on('noise').auroc {UNSAID}: expected .at_least(...) to follow",
        f"assert_monitor('energy') {UNSAID}: expected a measure (.overall, .specific, ",
    ):
        assert line in told
    assert "Traceback" not in told
    assert "plugin.py" not in told


def test_a_sentence_begun_in_a_fixture_of_the_test_is_its_own(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest
        from farm.testing import assert_monitor

        @pytest.fixture(scope="module")
        def wide():
            return assert_monitor("energy").on("shift")

        @pytest.fixture
        def said(wide):
            return assert_monitor("energy").on("noise")

        @pytest.fixture
        def ended():
            assert_monitor("energy").overall.mcc.at_least(-0.9)

        @pytest.fixture
        def asked(request):
            return request.getfixturevalue("wide")

        @pytest.fixture
        def later():
            yield
            assert_monitor("energy").on("adversarial")

        class TestOfPytest:
            def setup_method(self):
                self.said = assert_monitor("energy").level(0.9)

            def test_in_setup(self):
                pass

            def test_in_setup_and_ended(self):
                self.said.overall.mcc.at_least(-0.9)

        def test_never_ended(said):
            pass

        def test_another_ended(said):
            assert_monitor("energy").overall.mcc.at_least(-0.9)

        def test_ended(said, ended):
            said.overall.mcc.at_least(-0.9)

        def test_asked_for_late(asked, request):
            request.getfixturevalue("wide")

        def test_when_all_is_over(later):
            pass

        @pytest.fixture
        def broken(said):
            raise OSError("no such file")

        def test_setup_fails_by_itself(broken):
            pass

        def test_after_it(wide):
            pass
        """,
        failed=3,
        errors=1,
        passed=5,
    )
    assert told.count(f"assert_monitor('energy').on('noise') {UNSAID}: expected a measure (.overall, ") == 2
    assert told.count(f"assert_monitor('energy') {UNSAID}") == 1, "of the one in setup_method"
    assert told.count(UNSAID) == 3
    assert "no such file" in told


def test_what_was_said_to_its_end_is_left_alone(
    on_tiny: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if not within this test, which would be taken for the one that the module is loaded for.
    monkeypatch.setattr(plugin, "_running", [])
    run_in(
        on_tiny,
        """
        import pytest
        from farm.testing import assert_monitor

        ALWAYS = assert_monitor("energy").on("novelty")

        @pytest.fixture(scope="session")
        def said():
            return assert_monitor("energy").on("noise")

        def test_a_shared_prefix():
            said = assert_monitor("energy").on("novelty")
            said.overall.mcc.at_least(-0.9)
            said.specific.fpr.at_most(0.9)

        def test_the_same_words_twice():
            said = assert_monitor("energy").specific
            for measure in (said.fpr, said.fnr):
                measure.at_most(0.99)

        def test_begun_in_a_fixture(said):
            said.overall.mcc.at_least(-0.9)

        def test_begun_in_a_fixture_and_not_needed(said):
            pass

        def test_begun_in_the_module():
            ALWAYS.overall.mcc.at_least(-0.9)

        def test_an_error_is_an_answer():
            with pytest.raises(AttributeError, match="did you mean"):
                assert_monitor("energy").overall.mcq
            with pytest.raises(AssertionError):
                assert_monitor("energy").overall.mcc.at_least(0.9999)
        """,
        passed=6,
    )


def test_a_test_that_fails_or_stops_anyway_hears_nothing_of_it(on_tiny: pytest.Pytester) -> None:
    told = run_in(
        on_tiny,
        """
        import pytest
        from farm.testing import assert_monitor

        def test_own_failure():
            assert_monitor("energy").overall.mcc
            assert 1 == 2

        @pytest.mark.farm_criteria("overall.mcc >= 0.9999")
        def test_criteria(farm_run):
            farm_run("energy")
            assert_monitor("energy").overall.mcc

        def test_skipped():
            assert_monitor("energy").overall.mcc
            pytest.skip("on second thoughts")

        def test_looking_for_special_methods_says_nothing():
            said = assert_monitor("energy").overall.mcc
            hasattr(said, "__deepcopy__")
        """,
        failed=3,
        skipped=1,
    )
    assert "assert 1 == 2" in told
    assert "[energy]: FAIL" in told
    assert told.count(UNSAID) == 1, "of the last test alone"


def test_a_second_attempt_begins_anew(on_tiny: pytest.Pytester) -> None:
    on_tiny.makeconftest(
        ON_TINY
        + """
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    first = runtestprotocol(item, log=False, nextitem=None)
    assert [report.outcome for report in first] == ["passed", "failed", "passed"]
    runtestprotocol(item, nextitem=nextitem)
    return True
"""
    )
    run_in(
        on_tiny,
        """
        from farm.testing import assert_monitor

        attempts = []

        def test_it():
            said = assert_monitor("energy").overall.mcc
            attempts.append(said)
            if len(attempts) > 1:
                said.at_least(-0.9)
        """,
        passed=1,
    )


FAILING = """
import pytest
from farm.testing import assert_monitor

@pytest.mark.farm_criteria("overall.mcc >= 0.999 on each category", "specific.fpr <= 0.1 % on id")
def test_criteria(farm_run):
    farm_run("energy")

def test_assertion():
    assert_monitor("energy").on("noise").overall.mcc.at_least(0.5)

def test_own():
    assert "one\\ntwo" == "three"
"""
IN_SECTIONS = ("lower bound:", "worst classes by missed", "counts:", "pictures:")


@pytest.mark.parametrize("by", ["CI", "-vv", "a desk"])
def test_the_summary_has_the_verdicts_and_the_sections_the_evidence(
    on_tiny: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "CI":
        monkeypatch.setenv("CI", "1")
    monkeypatch.setenv("COLUMNS", "100")
    junit = on_tiny.path / "junit.xml"
    options = [f"--junit-xml={junit}", *(["-vv"] if by == "-vv" else [])]
    told = run_in(on_tiny, FAILING, *options, failed=3)
    sections, summary = told.split("= short test summary info =")
    for evidence in IN_SECTIONS:
        assert sections.count(evidence) == 4, "three criteria and one assertion"
        assert evidence not in summary
    lines = [line for line in summary.splitlines() if ": FAIL" in line or line.startswith("FAILED")]
    if by == "a desk":
        assert all(len(line) <= 100 for line in lines)
        assert len(lines) == 3
    else:
        assert [": FAIL; energy" in line for line in lines] == [True] * 4 + [False]
        assert lines[0].startswith(
            "FAILED test_the_summary_has_the_verdicts_and_the_sections_the_evidence.py::"
        )
        same_text(lines[0])
        same_text(lines[3])
        assert "two" in summary, "what is not ours is told as ever"
    first, second = [case.find("failure") for case in ElementTree.parse(junit).iter("testcase")][:2]
    for failure, n in ((first, 3), (second, 1)):
        assert failure is not None
        assert len(str(failure.get("message")).splitlines()) == n
        assert str(failure.text).count("lower bound:") == n


# Real sessions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_workers_serve_one_project(on_tiny: pytest.Pytester, workers: str) -> None:
    pytest.importorskip("xdist")
    on_tiny.makepyfile(
        """
        import pytest

        @pytest.mark.farm_criteria("specific.fpr <= 20 % on id")
        def test_one(farm_run):
            farm_run("energy")

        @pytest.mark.farm_criteria("specific.fpr <= 0.1 % on id")
        def test_two(farm_run):
            farm_run("energy")
        """
    )
    result = on_tiny.runpytest_subprocess("-n", workers, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*specific.fpr <= 0.1 % on id [[]energy[]]: FAIL"])


def test_the_guide_tells_what_happens(pytester: pytest.Pytester) -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    code = guide.split("```python\n")[1].split("```")[0]
    shown = guide.split("## What a failure looks like")[1].split("```")[1].strip().splitlines()
    failing = shown[0].removeprefix(">").strip()
    told = run_in(pytester, f"{code}\n\ndef test_too_much():\n    {failing}\n", passed=3, failed=1)

    def shape(lines: Iterable[str]) -> list[str]:
        """Leave out numbers, which are another machine's, and how wide they are."""
        return [re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?", "#", line)).rstrip() for line in lines]

    place = next(i for i, line in enumerate(told.splitlines()) if failing in line and line[0] == ">")
    assert shape(told.splitlines()[place:])[: len(shown) - 1] == shape(shown[:-1])


def test_the_embedded_benchmark_has_four_kinds_of_faults(pytester: pytest.Pytester) -> None:
    run_in(
        pytester,
        """
        def test_it(farm_run, farm_workload):
            instances = farm_run("max-softmax").instances
            counts = instances["category"].value_counts().to_dict()
            kinds = ("novelty", "noise", "shift", "adversarial")
            assert counts == dict.fromkeys(kinds, len(farm_workload.test))
            assert (~instances["is_ood"]).sum() == len(farm_workload.test) == 359
            assert len(instances) / 4 >= 299, "batches enough for p99"
        """,
        passed=1,
    )
