"""What Dask says while a campaign runs on it: kept in a file, off the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

OF_DASK = ("asyncio", "bokeh", "dask", "dask_jobqueue", "dask_kubernetes", "distributed", "tornado")


class DaskLog(logging.Handler):
    """Appends warnings and errors to a file, once it has one."""

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
