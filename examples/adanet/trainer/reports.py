"""Record what a replica builds and trains, from the graphs that AdaNet gives to TensorFlow."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

STEP_PREFIX = "computes_subnetwork_"


class Steps:
    """Computes one step of a subnetwork at a time, for some seconds at least, and counts them."""

    def __init__(self, seconds: float) -> None:
        self.computed: Counter[int] = Counter()
        self._seconds = seconds
        self._lock = threading.Lock()

    def operation(self, subnetwork: int) -> tf.Operation:
        """Return an operation of the graph that stands for the computation of one step."""

        def compute() -> int:
            with self._lock:
                time.sleep(self._seconds)
                self.computed[subnetwork] += 1
            return 0

        with tf.device(None):
            return tf.compat.v1.py_func(compute, [], tf.int64, name=f"{STEP_PREFIX}{subnetwork}").op


class ReportHook(tf.estimator.SessionRunHook):
    """Writes a report of each iteration, after all workers of the cluster have begun it."""

    def __init__(self, folder: Path, replica: str, *, worker: int, workers: int, steps: Steps) -> None:
        self._folder = folder
        self._replica = replica
        self._worker = worker
        self._workers = workers
        self._steps = steps
        self._iteration = -1
        self._report: dict[str, Any] = {}
        self._started = 0.0

    def begin(self) -> None:
        devices = {each.op.name: each.device for each in tf.compat.v1.global_variables()}
        self._iteration = max(int(number) for number in re.findall(r"iteration_(\d+)/", " ".join(devices)))
        self._steps.computed.clear()
        self._report = {
            "replica": self._replica,
            "worker": self._worker,
            "iteration": self._iteration,
            "devices": {
                name: device for name, device in devices.items() if f"iteration_{self._iteration}/" in name
            },
        }

    def after_create_session(self, session: tf.compat.v1.Session, coord: tf.train.Coordinator) -> None:
        """Wait for all workers, so that each takes part in each iteration, however late it started."""
        del session, coord
        folder = self._folder / "begun"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self._iteration}-{self._worker}").touch()
        while not all((folder / f"{self._iteration}-{each}").exists() for each in range(self._workers)):
            time.sleep(0.1)
        self._started = time.monotonic()

    def before_run(self, run_context: tf.estimator.SessionRunContext) -> None:
        """Find the subnetworks that this session trains, in the part of the graph that it runs."""
        if "trains" in self._report:
            return
        names = [each.name for each in ancestors(run_context.original_args.fetches)]
        found = re.findall(rf"{STEP_PREFIX}(\d+)", " ".join(names))
        self._report["trains"] = sorted({int(number) for number in found})

    def end(self, session: tf.compat.v1.Session) -> None:
        del session
        self._report["seconds"] = time.monotonic() - self._started
        self._report["computed"] = {str(number): steps for number, steps in self._steps.computed.items()}
        path = self._folder / f"{self._iteration}-{self._replica}.json"
        path.with_suffix(".partial").write_text(json.dumps(self._report))
        path.with_suffix(".partial").rename(path)


def ancestors(fetches: Any) -> Iterator[tf.Operation]:
    """Yield the operations that TensorFlow executes for these fetches."""
    found: set[tf.Operation] = set()
    waiting = [getattr(each, "op", each) for each in tf.nest.flatten(fetches)]
    while waiting:
        operation = waiting.pop()
        if operation not in found:
            found.add(operation)
            yield operation
            waiting += [each.op for each in operation.inputs] + list(operation.control_inputs)


def collect(folder: Path, workers: int, iteration: int, seconds: float = 300) -> list[dict[str, Any]]:
    """Wait for all workers' reports of the last iteration, and return those of all iterations of this job."""
    until = time.monotonic() + seconds
    while len(list(folder.glob(f"{iteration}-*.json"))) < workers and time.monotonic() < until:
        time.sleep(0.5)
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
