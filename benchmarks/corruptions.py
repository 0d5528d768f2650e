"""Time ImageNet-C's corruptions beside the package imagecorruptions, in one run, one thread each.

    python benchmarks/corruptions.py --peer PYTHON

`PYTHON` is an interpreter that has imagecorruptions. Ours run in batches of 64, through the driver that a
stream uses, the peer's one image at a time, both on the same 32 x 32 RGB images, in turns, so that a busy
moment of the machine meets both. A time is the best of twelve, averaged over severities 1 to 5.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
import warnings
from functools import partial

if __name__ == "__main__":  # before NumPy is loaded, whose libraries read these once
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"

import numpy as np

BATCH, SIZE, PEER_IMAGES = 64, 32, 8
ROUNDS, CALLS = 4, 3
SEVERITIES = (1, 2, 3, 4, 5)
PEERS_NAME = {"jpeg": "jpeg_compression"}
"""Where the peer's name is not ours with underscores."""
LEFT_OUT = "frost"
"""Not in the mean: the peer reads a photograph from disk each time."""


def images():
    """Make images of a few coarse colours, as bytes (n, height, width, 3)."""
    coarse = np.random.default_rng(0).integers(0, 256, size=(BATCH, 4, 4, 3), dtype=np.uint8)
    return coarse.repeat(SIZE // 4, axis=1).repeat(SIZE // 4, axis=2)


def best(work, n):
    """Return the seconds an image of the best of a few calls, the first of which may have to warm up."""
    taken = []
    for _ in range(CALLS):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken) / n


def one_by_one(corrupt, name, severity):
    pictures = images()[:PEER_IMAGES]

    def work():
        for picture in pictures:
            corrupt(picture, severity, name)

    return work


def serve_peer():
    """In the peer's interpreter: read names, a line each; answer with seconds an image, or why not."""
    warnings.simplefilter("ignore")
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # the peer prints
        import cv2
        from imagecorruptions import corrupt, get_corruption_names

        cv2.setNumThreads(1)
        print(json.dumps(get_corruption_names("all")), file=answers, flush=True)
        for line in sys.stdin:
            name = line.strip()
            try:
                answer = {"seconds": [best(one_by_one(corrupt, name, s), PEER_IMAGES) for s in SEVERITIES]}
            except Exception as error:  # noqa: BLE001 - whatever it is, the table says it
                answer = {"error": f"cannot run: {type(error).__name__}: {error}".splitlines()[0]}
            print(json.dumps(answer), file=answers, flush=True)


class Peer:
    """The package in its own interpreter, which answers one name at a time."""

    def __init__(self, python):
        self._process = subprocess.Popen(
            [python, __file__, "--serve-peer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        first = self._process.stdout.readline()
        if not first:
            raise SystemExit(
                f"{python} has no working imagecorruptions: try `{python} -c 'import imagecorruptions'`"
            )
        self.names = json.loads(first)

    def time(self, name):
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def our_faults():
    """Make each registered faultload that says it is ImageNet-C's."""
    from farm import registry
    from farm.errors import FarmError

    faults = {}
    for name in registry.entries("faultload"):
        try:
            fault = registry.faultload(name)
        except FarmError:  # it needs parameters, which none of ImageNet-C's does
            continue
        if fault.origin.startswith("ImageNet-C"):
            faults[name] = fault
    return faults


def time_ours(fault):
    pictures = np.ascontiguousarray(images().transpose(0, 3, 1, 2), dtype=np.float32) / np.float32(255)
    labels, ids = np.zeros(BATCH, dtype=np.int64), np.array([f"image-{i}" for i in range(BATCH)])
    asked = [np.full(BATCH, float(severity)) for severity in SEVERITIES]
    return [best(partial(fault.apply, pictures, labels, ids, each), BATCH) for each in asked]


def measure(fault, peer, peers_name):
    """Time both in turns; give microseconds an image, the peer's None where it has none, and why."""
    ours, theirs, reason = [], [], "" if peer else "no peer asked for"
    if peer and peers_name not in peer.names:
        reason = "the peer has none"
    for _ in range(ROUNDS):
        ours.append(time_ours(fault))
        if not reason:
            answer = peer.time(peers_name)
            theirs.append(answer.get("seconds"))
            reason = answer.get("error", "")
    return over_severities(ours), None if reason else over_severities(theirs), reason


def over_severities(rounds):
    """Average the best time of each severity, in microseconds."""
    return float(np.min(rounds, axis=0).mean() * 1e6)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter that has imagecorruptions")
    parser.add_argument("--serve-peer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve_peer:
        serve_peer()
        return
    faults = our_faults()
    peer = Peer(arguments.peer) if arguments.peer else None
    print(f"microseconds an image of {SIZE} x {SIZE} x 3, one thread; ours in batches of {BATCH}\n")
    print(f"{'corruption':<20}{'ours':>10}{'peer':>10}{'ratio':>10}")
    ratios = {}
    for name, fault in faults.items():
        ours, theirs, reason = measure(fault, peer, PEERS_NAME.get(name, name.replace("-", "_")))
        if theirs is None:
            print(f"{name:<20}{ours:>10.1f}{'':>10}{'':>10}  {reason}")
        else:
            ratios[name] = theirs / ours
            print(f"{name:<20}{ours:>10.1f}{theirs:>10.1f}{ratios[name]:>9.1f}x", flush=True)
    if peer is None:
        print("\nNo peer to compare with: give its interpreter with --peer PYTHON.")
        return
    peer.close()
    known = {PEERS_NAME.get(name, name.replace("-", "_")) for name in faults}
    if missing := [name for name in peer.names if name not in known]:
        print(f"\nSkipped, not registered here: {', '.join(missing)}")
    compared = [ratio for name, ratio in ratios.items() if name != LEFT_OUT]
    if compared:
        mean = float(np.exp(np.mean(np.log(compared))))
        slower = [name for name, ratio in ratios.items() if ratio < 1] or ["none"]
        print(f"\nGeometric mean of {len(compared)} ratios, {LEFT_OUT} left out: {mean:.1f}x")
        print(f"Slower than the peer: {', '.join(slower)}")


if __name__ == "__main__":
    main()
