"""Record what a replica builds and trains, from the graphs that AdaNet gives to TensorFlow."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

STEP_PREFIX = "simulated_compute_of_subnetwork_"


class Steps:
    """Counts the steps that this replica computes, one at a time. Each sleeps: simulated computation.

    So measured times do not depend on how many processors the replicas of an emulator share.
    """

    def __init__(self, simulated_seconds: float) -> None:
        self.computed: Counter[int] = Counter()
        self._simulated_seconds = simulated_seconds
        self._lock = threading.Lock()

    def operation(self, subnetwork: int) -> tf.Operation:
        """Return an operation of the graph to run before each step of the subnetwork."""

        def simulated_compute() -> int:
            with self._lock:
                time.sleep(self._simulated_seconds)
                self.computed[subnetwork] += 1
            return 0

        with tf.device(None):
            return tf.compat.v1.py_func(simulated_compute, [], tf.int64, name=f"{STEP_PREFIX}{subnetwork}").op


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
        if self._worker != 0:
            # The chief initializes the variables. TensorFlow looks for them every 30 seconds only.
            self._await(range(1))
        self._steps.computed.clear()
        self._report = {
            "replica": self._replica,
            "worker": self._worker,
            "iteration": self._iteration,
            "trains": trained_subnetworks(tf.compat.v1.get_default_graph()),
            "devices": {
                name: device for name, device in devices.items() if f"iteration_{self._iteration}/" in name
            },
        }

    def after_create_session(self, session: tf.compat.v1.Session, coord: tf.train.Coordinator) -> None:
        """Wait for all workers, so that each takes part in each iteration, however late it started."""
        del session, coord
        begun = self._begun(self._worker)
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.touch()
        self._await(range(self._workers))
        self._started = time.monotonic()

    def _begun(self, worker: int) -> Path:
        return self._folder / "begun" / f"{self._iteration}-{worker}"

    def _await(self, workers: Iterable[int]) -> None:
        while not all(self._begun(each).exists() for each in workers):
            time.sleep(0.1)

    def end(self, session: tf.compat.v1.Session) -> None:
        del session
        self._report["seconds"] = time.monotonic() - self._started
        self._report["computed"] = {str(number): steps for number, steps in self._steps.computed.items()}
        path = self._folder / f"{self._iteration}-{self._replica}.json"
        path.with_suffix(".partial").write_text(json.dumps(self._report))
        path.with_suffix(".partial").rename(path)


def trained_subnetworks(graph: tf.Graph) -> list[int]:
    """Return the subnetworks that the graph computes before it raises a counter of steps."""
    names = [
        ancestor.name
        for operation in graph.get_operations()
        if operation.type.startswith("AssignAdd")
        for ancestor in ancestors(operation)
    ]
    return sorted({int(number) for number in re.findall(rf"{STEP_PREFIX}(\d+)", " ".join(names))})


def ancestors(operation: tf.Operation) -> set[tf.Operation]:
    """Return all operations that TensorFlow executes with this one."""
    found: set[tf.Operation] = set()
    waiting = [operation]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [each.op for each in one.inputs] + list(one.control_inputs)
    return found


def collect(folder: Path, workers: int, iteration: int, seconds: float = 300) -> list[dict[str, Any]]:
    """Return the reports of the iterations that this job has trained.

    The caller is the chief, which has written its own, so wait for those of the other workers. A job that
    continues another one first builds its last iteration again, without training it.
    """
    until = time.monotonic() + seconds
    last = f"{iteration}-*.json"
    while 0 < len(list(folder.glob(last))) < workers and time.monotonic() < until:
        time.sleep(0.5)
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    trained = {each["iteration"] for each in found if each["computed"]}
    return [each for each in found if each["iteration"] in trained]


def table(reports: list[dict[str, Any]]) -> str:
    """Return the reports as text, in the columns of `vertex-training placement`."""
    lines = [f"{'ITERATION':9} {'REPLICA':14} {'ENSEMBLE':9} {'BUILDS':7} {'TRAINS':7} PARAMETER SERVERS"]
    for each in sorted(reports, key=lambda report: (report["iteration"], report["worker"])):
        servers: dict[str, set[str]] = defaultdict(set)
        for name, device in each["devices"].items():
            subnetwork = re.search(r"/subnetwork_t\d+_dnn(\d+)/", name)
            server = re.search(r"task:(\d+)", device)
            if subnetwork and server:
                servers[subnetwork[1]].add(server[1])
        ensemble = "E" if any("/ensemble_" in name for name in each["devices"]) else "-"
        trains = ",".join(map(str, each["trains"])) or "-"
        placed = " ".join(f"{number}:{','.join(sorted(servers[number]))}" for number in sorted(servers))
        cells = f"{each['replica']:14} {ensemble:9} {','.join(sorted(servers)):7} {trains:7} {placed}"
        lines.append(f"{each['iteration']:<9} {cells}".rstrip())
    return "\n".join(lines)
