"""Images that an index lists: paths, labels, and what else is known of them."""

from __future__ import annotations

from collections.abc import Sequence

from farm.api import Context, Workload, WorkloadSource
from farm.workloads.index_file import read_index
from farm.workloads.indexed_images import IndexedImages, joined
from farm.workloads.listing import Settings, make_workload
from farm.workloads.problems import Problems


class Table(WorkloadSource):
    """Images from an index: a CSV (comma, semicolon or tab) or Parquet file, or a folder of such files.

    Columns, in any order and case: `path` (from the index's own folder) and `label`; optionally `group`
    (frames of one track; no group is cut in two), `split` (train, validation or test), `left`, `top`,
    `right`, `bottom` (a box, in pixels of the file), `mask` (the path of an image that is black but for the
    object), `height` and `width` (of the file; checked). Every other column is an operating condition:
    numbers, or words. Only cells of `group` and of conditions may be empty.

    The German traffic-sign benchmark's own files load unchanged: `path` is its folder of training images,
    with one CSV a class, and `test_path` its `GT-final_test.csv`; files such as `00012/00003_00017.ppm` are
    grouped by class folder and track. Paths that climb out of their folder are refused; links in it are
    followed.

    Opening reads the index only, and with boxes or masks the sizes of files where no column tells them.
    Images are decoded on first need as for `folder`; masks at once.

    Parameters
    ----------
    path
        The index, or a folder with several; a relative path is looked for beside the experiment, here, and in
        `$FARM_DATA`. With no `split` column its images are for training.
    validation_path, test_path
        An index of its own for a split.
    images, test_images
        The folder that the paths in `path` and `validation_path`, or in `test_path`, start from, where it is
        not the index's own.
    title
        What to call it; the index's name where not given. Classes that are numbers are called `title-00`, ...
    classes
        The class names. Labels are such names, or numbers that count them from 0. Without them, classes are
        what occurs in the training data, in order.
    size
        Height and width to resize all images to (antialiased; boxes and masks with them). Without it, all
        must be of one size.
    channels
        1 turns all into grey, 3 into RGB. Without it, all must be as the first.
    validation, test
        The share of each class's training groups that becomes a split which no index lays out: first `test`,
        then `validation` from what is left. 0.2 where not given.
    copies
        What to do with images that stand there twice: `error` where two splits share one, or `drop` the later
        ones (training data come first; needs every image). What was dropped is kept with the results.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from PIL import Image
    >>> with TemporaryDirectory() as folder:
    ...     rows = ["path,label,group,weather"]
    ...     for i in range(24):
    ...         Image.new("L", (8, 8), 10 * i).save(Path(folder) / f"{i}.png")
    ...         rows.append(f"{i}.png,{'stop' if i < 12 else 'yield'},{i // 2},rain")
    ...     _ = (Path(folder) / "index.csv").write_text("\\n".join(rows))
    ...     signs = Table(path=f"{folder}/index.csv").load(Context())
    >>> signs.classes, len(signs.train), signs.test.groups[0] == signs.test.groups[1]
    (('stop', 'yield'), 16, True)
    """

    def __init__(
        self,
        *,
        path: str,
        validation_path: str | None = None,
        test_path: str | None = None,
        images: str | None = None,
        test_images: str | None = None,
        title: str | None = None,
        classes: Sequence[str] | None = None,
        size: Sequence[int] | None = None,
        channels: int | None = None,
        validation: float | None = None,
        test: float | None = None,
        copies: str = "error",
    ) -> None:
        self._settings = Settings.of(size, channels, validation, test, copies)
        self._indices: dict[str | None, tuple[str, str | None]] = {None: (path, images)}
        if validation_path is not None:
            self._indices |= {"validation": (validation_path, images)}
        if test_path is not None:
            self._indices |= {"test": (test_path, test_images)}
        self._title, self._classes = title, classes

    def _load(self, context: Context) -> Workload:
        what = f"workload '{self.name}'"
        main = context.find(self._indices[None][0], what)
        title = self._title or (main.resolve().name if main.is_dir() else main.stem)
        problems = Problems()
        parts = []
        for split, (path, images) in self._indices.items():
            index = read_index(context.find(path, what))
            index.check_columns()
            root = context.find(images, what) if images else index.root
            # Images of several indices are told apart by the split that each is for.
            prefix = "" if len(self._indices) == 1 else f"{split or 'train'}/"
            parts.append(IndexedImages(index, root, split, prefix, title, problems))
        listing = joined(parts, self._classes, title, str(main), problems)
        problems.check(str(main))
        return make_workload(title, listing, self._settings, context)
