"""Finding a Dask cluster: a scheduler's address, a scheduler file, or a name in Dask's configuration.

A name is looked for under `farm.clusters` first, then among the deployment packages that we know, whose own
configuration is used as it is.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from farm.errors import (
    DataError,
    Failure,
    ParameterError,
    RequirementError,
    UnknownNameError,
    one_line,
    suggestion,
)
from farm.store.files import read_json

TIMEOUT = 10.0
"""Seconds within which a scheduler must answer."""
OWN = "farm.clusters"
"""Where clusters are configured for us, in Dask's configuration."""
QUEUES = {name: f"{name.upper()}Cluster" for name in ("slurm", "pbs", "sge", "lsf", "oar")}
QUEUES |= {"moab": "MoabCluster", "htcondor": "HTCondorCluster"}
KNOWN: Mapping[str, Mapping[str, Any]] = {
    **{name: {"class": f"dask_jobqueue.{cls}", "config_name": name} for name, cls in QUEUES.items()},
    "kubernetes": {"class": "dask_kubernetes.operator.KubeCluster", "quiet": True},
    "local": {
        "class": "distributed.LocalCluster",
        "threads_per_worker": 1,
        "dashboard_address": ":0",
        "silence_logs": logging.CRITICAL,  # they write to this terminal
        # Ctrl-C reaches them as well; they end with the campaign, in order, and not each by itself.
        "preload": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    },
}
"""Sections of Dask's configuration that others defined, and who reads them."""
OF_DASK = ("asyncio", "bokeh", "dask", "dask_jobqueue", "dask_kubernetes", "distributed", "tornado")
"""Packages whose logging is Dask's."""


@dataclass(frozen=True)
class Connection:
    """A client of a Dask cluster, and the cluster if it was made for this campaign."""

    client: Any
    cluster: Any = None
    workers: int | None = None
    """How many workers it is to have, where it is ours."""

    def scale(self) -> None:
        """Ask for the workers; those that were lost, as after a queue's time limit, are asked for again."""
        if self.cluster is not None:
            self.cluster.scale(self.workers)

    def close(self) -> None:
        """Disconnect; what was made for this campaign is ended."""
        with suppress(OSError, RuntimeError):  # a scheduler that is gone need not be told
            self.client.close()
        if self.cluster is not None:
            try:
                self.cluster.close()
            except AssertionError:
                pass  # of Dask's, at the very end: a worker that the queue refused cannot be ended
            except Exception as error:
                raise Failure(
                    f"the Dask cluster could not be ended ({one_line(error)}); see whether workers still run"
                ) from error


def dask() -> Any:
    """Return the package `distributed`, or say how to get it."""
    try:
        return import_module("distributed")
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name in ("distributed", "dask"):
            raise RequirementError(
                "--cluster needs the package distributed, which is not installed; "
                "try: pip install 'farm-testbed[cluster]'"
            ) from None
        raise RequirementError(f"distributed cannot be imported: {one_line(error)}") from error


def connect(where: str, workers: int | None) -> Connection:
    """Connect to a cluster that is there, or make one that the configuration describes."""
    if ":" in where or where.endswith(".json"):
        if workers is not None:
            raise ParameterError(
                f"--workers is {workers}, but the workers of a running Dask cluster ({where}) are started "
                "where it runs, with `dask worker`: leave --workers out"
            )
        return Connection(_client_of(where if ":" in where else _address_in(Path(where)), where))
    settings = dict(_settings(where))
    wanted = workers if workers is not None else settings.get("n_workers", _count(where))
    if not isinstance(wanted, int) or wanted < 1:
        raise ParameterError(
            f"--cluster {where} needs --workers N, at least 1"
            + ("" if wanted is None else f", not {wanted}")
            + ": how many workers to start; its configuration does not say"
        )
    cluster = _made(where, settings)
    try:
        return Connection(dask().Client(cluster, set_as_default=False, timeout=TIMEOUT), cluster, wanted)
    except BaseException:
        cluster.close()
        raise


class DaskLog(logging.Handler):
    """Keeps what Dask says off the terminal: appends warnings and errors to a file, once it has one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        self.path: Path | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; one that cannot be written is no reason to fail."""
        if self.path is not None:
            with suppress(OSError), self.path.open("a", encoding="utf-8") as file:
                file.write(self.format(record) + "\n")

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Take all that Dask logs, instead of the handlers that it set up for itself."""
        before: list[tuple[logging.Logger, list[logging.Handler], bool]] = []
        names = {name for name in logging.root.manager.loggerDict if name.partition(".")[0] in OF_DASK}
        for name in sorted(names.union(OF_DASK)):
            logger, outermost = logging.getLogger(name), name in OF_DASK
            before.append((logger, logger.handlers, logger.propagate))
            logger.handlers, logger.propagate = [self] if outermost else [], not outermost
        try:
            yield
        finally:
            for logger, handlers, propagate in before:
                logger.handlers, logger.propagate = handlers, propagate


def _client_of(address: str, where: str) -> Any:
    """Connect to a scheduler, and say in time where there is none."""
    distributed = dask()
    try:
        # In a thread of its own, where no event loop can be running; Client itself would wait forever for a
        # server that is none of Dask's and says nothing.
        with ThreadPoolExecutor(1) as thread:
            kind = thread.submit(asyncio.run, _identity(distributed, address)).result()
        if kind == "Scheduler":
            return distributed.Client(address, set_as_default=False, timeout=TIMEOUT)
        why = f"a Dask {kind} does"
    except TimeoutError:
        why = f"nothing came within {TIMEOUT:.0f} s"
    except Exception as error:  # noqa: BLE001 - each of Dask's ways to connect has errors of its own
        message = str(error.__cause__ or "") or str(error)
        why = re.sub(r"^in <.*?>: ", "", " ".join(message.split()))
    raise RequirementError(
        f"--cluster {where}: no Dask scheduler answers at {address} ({why}); is it running, and does "
        "this machine reach it?"
    )


async def _identity(distributed: Any, address: str) -> str:
    """Ask a server of Dask's what it is."""
    arguments = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(TIMEOUT + 2):
        async with distributed.rpc(address, timeout=TIMEOUT, connection_args=arguments) as server:
            return str((await server.identity())["type"])


def _address_in(file: Path) -> str:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            address = read_json(file).get("address")
            break
        except DataError:  # a scheduler that was just started writes it in a moment, and not at once
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    if not isinstance(address, str):
        raise ParameterError(
            f"--cluster {file}: it holds no 'address'; expected what `dask scheduler --scheduler-file` writes"
        )
    return address


def _settings(name: str) -> Mapping[str, Any]:
    """Find a cluster's class and its arguments by its name."""
    dask()
    config = import_module("dask.config")
    named = config.get(OWN, None) or {}
    if not isinstance(named, Mapping):
        raise ParameterError(
            f"{OWN} in Dask's configuration is {named!r}; expected names, each with its 'class'"
        )
    settings = named.get(config.canonical_name(name, named), KNOWN.get(name))
    if settings is None:
        raise UnknownNameError(
            f"--cluster {name}: Dask's configuration has no {OWN}.{name}; "
            f"{suggestion(name, {*named, *KNOWN})}; expected a name, an address such as tcp://host:8786, "
            "or a scheduler file (*.json)"
        )
    if not isinstance(settings, Mapping) or not isinstance(settings.get("class"), str):
        raise ParameterError(
            f"{OWN}.{name} in Dask's configuration has no 'class', such as dask_jobqueue.SLURMCluster"
        )
    return {str(key).replace("-", "_"): value for key, value in settings.items()}


def _count(name: str) -> Any:
    """Return how many workers a configuration that is not ours asks for; only one kind does."""
    return import_module("dask.config").get("kubernetes.count.start", None) if name == "kubernetes" else None


def _made(name: str, settings: dict[str, Any]) -> Any:
    module, _, attribute = settings.pop("class").rpartition(".")
    try:
        make = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        package = module.partition(".")[0].replace("_", "-")
        hint = (
            f"try: pip install {package}"
            if package.startswith("dask-")
            else f"see {OWN}.{name} in Dask's configuration"
        )
        raise RequirementError(
            f"--cluster {name}: cannot import {module}.{attribute} ({one_line(error)}); {hint}"
        ) from error
    try:
        with warnings.catch_warnings():
            # Of the page that shows what a cluster does; one campaign has it, the next takes another port.
            warnings.filterwarnings("ignore", r"\s*Port \d+ is already in use")
            return make(**settings)
    except Exception as error:
        raise RequirementError(
            f"--cluster {name}: {module}.{attribute} cannot be started: {one_line(error)}"
        ) from error
