"""Names lead to components: ours and other people's, by one door."""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distributions
from types import SimpleNamespace

import pytest

from farm import api, registry
from farm.errors import ExperimentError, ParameterError, UnknownNameError
from tests.wording import refused, same_text

KINDS = tuple(registry.BASES)
BUILT_IN = [
    (kind, name)
    for kind in KINDS
    for name, entry in registry.entries(kind).items()
    if entry.owner == registry.OURS
]


def python(code, folder, **environment):
    """Run a piece of Python in a folder of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def points(*triples):
    return lambda group: [
        SimpleNamespace(name=name, value=value, dist=dist and SimpleNamespace(name=dist))
        for name, value, dist in triples
    ]


# What is registered ------------------------------------------------------------------------------------


def test_something_of_every_kind_ships():
    assert {kind for kind, _ in BUILT_IN} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_component_of_a_kind_keeps_the_rules(kind):
    broken, refusals = [], []
    for name in (own for of, own in BUILT_IN if of == kind):
        cls = registry.component_class(kind, name)
        if not issubclass(cls, registry.BASES[kind]):
            broken.append(f"{name}: it is no {kind}")
        broken += [f"{name}: {what}" for what in (*undescribed(cls), *changeable(cls))]
        parameters = api.parameters_of(cls)
        if any(p.default is inspect.Parameter.empty for p in parameters.values()):
            with pytest.raises(ParameterError) as caught:
                registry.make(kind, name, {})
            refusals.append(str(caught.value))
            continue
        made = registry.make(kind, name, {})
        if made.name != name or made.parameters != {n: p.default for n, p in parameters.items()}:
            broken.append(f"{name}: made without parameters it is {made.name} with {made.parameters}")
        json.dumps(made.parameters, allow_nan=False)
    assert broken == []
    same_text(refusals or "none requires anything")


def undescribed(cls):
    """Say which parameters are not keyword-only or not described, or that it has no docstring of its own."""
    parameters = api.parameters_of(cls)
    if "__init__" in vars(cls) and set(inspect.signature(cls.__init__).parameters) - {"self"} != set(
        parameters
    ):
        yield "it takes parameters by their positions"
    if not vars(cls).get("__doc__"):
        yield "no docstring of its own"
    if not parameters:
        return
    section = re.search(
        r"\nParameters\n-+\n(.*?)(?=\n[A-Z]\w+\n-+\n|\Z)", inspect.getdoc(cls) or "", re.DOTALL
    )
    if not section:
        yield "no Parameters section"
        return
    heads = re.findall(r"^(\w[\w, ]*)$", section.group(1), re.MULTILINE)
    described = {word for head in heads for word in re.split(r",\s*", head)}
    yield from (f"'{parameter}' is not described" for parameter in sorted(set(parameters) - described))


def changeable(cls):
    """Say which defaults one user could change for another."""
    for name, parameter in api.parameters_of(cls).items():
        if isinstance(parameter.default, (list, dict, set)):
            yield f"the default of '{name}' is a {type(parameter.default).__name__}"


def test_listing_names_imports_no_component(tmp_path):
    code = (
        "import sys\nfrom farm import registry\n"
        "names = [n for kind in registry.BASES for n in registry.entries(kind)]\n"
        "print(len(names), 'torch' in sys.modules, 'monitors' in sys.modules)"
    )
    known = sum(len(registry.entries(kind)) for kind in KINDS)
    assert python(code, tmp_path).stdout.split() == [str(known), "False", "False"]


# Mistakes in names and parameters ----------------------------------------------------------------------


def test_an_unknown_name_gets_a_suggestion():
    with refused(UnknownNameError):
        registry.monitor("od1n")


def test_a_name_like_no_other_gets_the_list():
    with refused(UnknownNameError):
        registry.model("xyzzy")


def test_a_name_of_another_kind_is_not_known():
    with refused(UnknownNameError):
        registry.workload("odin")


def test_a_path_of_images_belongs_to_the_workload():
    with refused(ParameterError):
        registry.faultload("novelty", path="letters")


def test_an_unknown_parameter_gets_a_suggestion():
    with refused(ParameterError):
        registry.monitor("oob", clustres=3)


def test_a_parameter_of_what_takes_none_is_told():
    with refused(ParameterError):
        registry.monitor("never", rate=0.5)


def test_a_missing_parameter_is_named():
    with refused(ParameterError):
        registry.faultload("novelty")


def test_a_parameter_out_of_range_names_the_component():
    with refused(ParameterError):
        registry.monitor("random", rate=2)


def test_a_component_goes_by_its_registered_name_or_its_alias():
    assert registry.monitor("oob-pca").name == "oob-pca"
    assert registry.make("monitor", "oob-pca", {}, alias="planes").name == "planes"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("oob", {"tau": "x"}),
        ("oob", {"clusters": "3"}),
        ("oob", {"clusters": True}),
        ("oob", {"neurons": 3}),
        ("knn", {"layer": 1}),
        ("random", {"rate": None}),
    ],
)
def test_a_parameter_of_another_type_is_told_with_what_its_constructor_expects(name, parameters):
    with refused(ParameterError):
        registry.make("monitor", name, parameters)


def test_a_whole_number_will_do_for_a_number_and_a_list_for_a_sequence():
    made = registry.monitor("oob", tau=1, neurons=[0, 3])
    assert made.parameters["tau"] == 1
    assert made.parameters["neurons"] == [0, 3]


DEMANDING = """
from __future__ import annotations
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from farm.api import Monitor
if TYPE_CHECKING:
    from nowhere import Unheard

class Kernel:
    pass

@dataclass
class Settings:
    depth: int = 1

class Plain(Monitor):
    def _fit(self, data): return {}
    def _load(self, state): pass
    def _score(self, observation): return []

class Typed(Plain):
    def __init__(self, *, kernel: Kernel = Kernel(), settings: Settings = Settings(), depth: int = 1) -> None:
        if depth > 3:
            raise ValueError("no deeper than 3")
        if depth < 0:
            raise TypeError("depth must not be negative")

class OnlyForCheckers(Plain):
    def __init__(self, *, what: Unheard = None, depth: int = 1) -> None:
        pass
"""


@pytest.fixture
def demanding(tmp_path, monkeypatch):
    (tmp_path / "demanding.py").write_text(DEMANDING)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("demanding", None)


@pytest.mark.usefixtures("demanding")
@pytest.mark.parametrize(
    ("depth", "reason"),
    [(4, "ValueError: no deeper than 3"), (-1, "TypeError: depth must not be negative")],
)
def test_what_a_constructor_raises_names_the_component(depth, reason):
    message = f"monitor 'demanding:Typed' cannot be made: {reason}"
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        registry.make("monitor", "demanding:Typed", {"depth": depth})


@pytest.mark.usefixtures("demanding")
def test_types_that_cannot_be_checked_are_the_components_own_affair():
    made = registry.make("monitor", "demanding:Typed", {"kernel": object(), "depth": 2})
    assert made.parameters["depth"] == 2
    assert registry.make("monitor", "demanding:OnlyForCheckers", {"what": 3}).parameters["what"] == 3
    with pytest.raises(
        ParameterError, match=r"^monitor 'demanding:Typed': depth is 'x'; expected a whole number$"
    ):
        registry.make("monitor", "demanding:Typed", {"depth": "x"})


def test_suggestions_include_what_an_experiment_may_say_beside_parameters():
    with refused(ParameterError):
        registry.make("monitor", "oob", {"calibrate": {}}, other_keys=["as", "calibration"])


# module:attribute --------------------------------------------------------------------------------------


def test_a_component_that_nobody_registered_goes_by_module_and_attribute():
    made = registry.make("workload", "farm.testing.fakes:TinySource", {"size": 4})
    assert made.parameters["size"] == 4
    assert made.name == "farm.testing.fakes:TinySource"


@pytest.mark.parametrize("target", ["farm.testing.fakes:", ":FakeMonitor"])
def test_half_a_target_is_told(target):
    with refused(ExperimentError):
        registry.component_class("monitor", target)


def test_a_misspelt_attribute_gets_a_suggestion():
    with refused(ExperimentError):
        registry.component_class("monitor", "farm.testing.fakes:FakeMonitr")


@pytest.mark.parametrize("package", registry.OUR_PACKAGES)
def test_a_users_module_of_a_packages_name_is_told_that_the_name_is_taken(package):
    with refused(ExperimentError):
        registry.import_target(f"{package}:make_net", "classifier.factory")


@pytest.mark.parametrize(
    "target", ["farm.testing.fakes:FakeFaultload", "farm.testing.fakes:tiny_workload", "math:pi"]
)
@pytest.mark.parametrize("kind", ["monitor", "model"])
def test_what_is_no_component_of_a_kind_is_told(kind, target):
    with refused(ExperimentError):
        registry.component_class(kind, target)


def test_a_module_that_is_not_there_is_told():
    with refused(ExperimentError):
        registry.component_class("monitor", "no_such_module:X")


def test_a_package_in_a_folder_beside_is_told_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "far-off" / "far_off").mkdir(parents=True)
    (tmp_path / "far-off" / "far_off" / "__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    with refused(ExperimentError):
        registry.component_class("monitor", "far_off.monitor:FarOff")


def test_a_path_in_the_place_of_a_workload_is_told_with_what_reads_it(tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    monkeypatch.chdir(tmp_path)
    with refused(UnknownNameError):
        registry.component_class("workload", "pictures")


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0",
        "def broken(:",
        "import gone_gone",
    ],
)
def test_a_module_that_fails_to_import_is_told_with_the_reason(tmp_path, monkeypatch, text):
    (tmp_path / "fails_on_import.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with refused(ExperimentError):
        registry.component_class("monitor", "fails_on_import:X")


# Owners ------------------------------------------------------------------------------------------------


def test_two_owners_of_a_name_are_an_error(monkeypatch):
    both = points(("odin", "monitors.odin:Odin", "farm-testbed"), ("odin", "theirs:Odin", "their-monitors"))
    monkeypatch.setattr(registry, "entry_points", both)
    with refused(ExperimentError):
        registry.entries("monitor")


def test_two_owners_of_a_name_are_an_error_though_both_point_at_the_same_class(monkeypatch):
    both = points(("odin", "monitors.odin:Odin", "farm-testbed"), ("odin", "monitors.odin:Odin", "a-fork"))
    monkeypatch.setattr(registry, "entry_points", both)
    with refused(ExperimentError):
        registry.entries("monitor")


def test_one_owner_found_twice_is_no_error(monkeypatch):
    once = ("odin", "monitors.odin:Odin", "farm-testbed")
    monkeypatch.setattr(registry, "entry_points", points(once, once))
    assert list(registry.entries("monitor")) == ["odin"]


def test_an_owner_that_does_not_say_who_it_is_is_unknown(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", points(("mine", "a:B", None)))
    assert registry.entries("monitor")["mine"].owner == "unknown"


def test_names_are_sorted():
    for kind in KINDS:
        assert list(registry.entries(kind)) == sorted(registry.entries(kind))


SAY = """
from farm import registry
from farm.errors import FarmError
try:
    print(registry.component_class({kind!r}, {name!r}))
except FarmError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("file", "kind", "name"),
    [
        ("models.py", "model", "lenet"),
        ("monitors.py", "monitor", "odin"),
        ("faultloads/__init__.py", "faultload", "novelty"),
    ],
)
def test_a_users_own_module_of_our_name_is_told_with_its_path(tmp_path, file, kind, name):
    theirs = tmp_path / file
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("mine = 1\n")
    package = file.split("/")[0].removesuffix(".py")
    said = python(SAY.format(kind=kind, name=name), tmp_path).stdout.strip()
    assert said == (
        f"ExperimentError package '{package}' was found at {theirs}, which hides the testbed's own at "
        f"{registry.HOME / package}; rename yours or run from another folder"
    )


def test_it_is_told_too_where_it_was_imported_already(tmp_path):
    (tmp_path / "models.py").write_text("mine = 1\n")
    said = python("import models\n" + SAY.format(kind="model", name="lenet"), tmp_path).stdout
    assert f"package 'models' was found at {tmp_path / 'models.py'}" in said


def test_a_users_other_modules_hide_nothing(tmp_path):
    (tmp_path / "notes.py").write_text("mine = 1\n")
    said = python(SAY.format(kind="model", name="lenet"), tmp_path).stdout.strip()
    assert said == "<class 'models.lenet.LeNet'>"


# Somebody else's package -------------------------------------------------------------------------------

THEIRS = '''
"""A monitor of somebody else."""
import numpy as np
from farm.api import Monitor, check_number


class Darkness(Monitor):
    """The darker the image, the more anomalous."""

    def __init__(self, *, gain: float = 1.0) -> None:
        check_number("gain", gain, above=0)
        self._gain = gain

    def _fit(self, data):
        return {}

    def _load(self, state):
        pass

    def _score(self, observation):
        return -self._gain * observation.images.mean(axis=(1, 2, 3), dtype=np.float64)
'''

EXPERIMENT = """
from farm import registry
from farm.config.experiment import parse_experiment
values = {
    "name": "x", "workload": "signs", "classifier": "lenet",
    "monitors": [{"name": "darkness", "gain": 2.0, "as": "dark"}],
}
made = parse_experiment(values, "x.yaml").monitors[0].make("monitor")
print(type(made).__module__, made.name, made.parameters["gain"], "torch" in __import__("sys").modules)
"""


def wheel(folder):
    """Build a wheel by hand: the package, its metadata and its entry point."""
    info = "their_monitors-1.0.dist-info"
    files = {
        "their_monitors.py": THEIRS,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: their-monitors\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[farm.monitors]\ndarkness = their_monitors:Darkness\n",
    }
    rows = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(text.encode())}")
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""])
    path = folder / "their_monitors-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder into which somebody else's package was installed."""
    # Not by looking for its module, at which setuptools warns where somebody has imported distutils.
    if not any(one.name == "pip" for one in distributions()):
        pytest.skip("this Python has no pip to install a package with")
    folder = tmp_path_factory.mktemp("theirs")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    options = ["--no-deps", "--no-index", "--no-compile", "--root-user-action=ignore", "--target"]
    subprocess.run([*pip, *options, str(folder / "site"), str(wheel(folder))], check=True)
    return folder / "site"


def test_an_installed_package_is_listed_with_its_owner(installed, tmp_path):
    code = "from farm.cli import main; raise SystemExit(main(['list', 'monitors', '--format', 'json']))"
    answer = python(code, tmp_path, PYTHONPATH=str(installed))
    assert answer.returncode == 0
    records = {record["name"]: record for record in json.loads(answer.stdout)}
    assert records["darkness"] == {
        "kind": "monitor",
        "name": "darkness",
        "target": "their_monitors:Darkness",
        "owner": "their-monitors",
    }
    assert records["odin"]["owner"] == "farm-testbed"


def test_an_experiment_makes_its_monitor_by_name(installed, tmp_path):
    answer = python(EXPERIMENT, tmp_path, PYTHONPATH=str(installed))
    assert answer.stdout.split() == ["their_monitors", "dark", "2.0", "False"], answer.stderr


def test_underscores_are_the_same_name():
    one, other = (registry.faultload(name) for name in ("gaussian_noise", "gaussian-noise"))
    assert type(one) is type(other)
    assert one.name == other.name == "gaussian-noise"
