"""Run the digits example as Vertex AI does: one process per replica, with its role in CLUSTER_SPEC."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from support.waiting import eventually

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "digits"
DATA = EXAMPLE / "data" / "digits.csv.gz"
_PYTHON = {
    "OPENBLAS_NUM_THREADS": "1",  # more threads wait for each other, which takes processor time
    "PYTHONPATH": os.pathsep.join([str(EXAMPLE), str(ROOT / "providers/vertex-cluster/src")]),
}

_chance = random.SystemRandom()
"""A source of random ports; the global one has the same seed in all test processes (pytest-randomly)."""


def free_ports(count: int) -> list[int]:
    """Return free ports below those that the system assigns to outgoing connections."""
    found: set[int] = set()
    while len(found) < count:
        port = _chance.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.add(port)
    return sorted(found)


def cluster_spec(pools: Mapping[int, list[str]], pool: int, index: int) -> str:
    """Return CLUSTER_SPEC as real jobs get it; the pool of a job of one replica is called chief."""
    alone = sum(map(len, pools.values())) == 1
    names = {position: "chief" if alone else f"workerpool{position}" for position in pools}
    return json.dumps(
        {
            "cluster": {names[position]: addresses for position, addresses in pools.items()},
            "environment": "cloud",
            "task": {"type": names[pool], "index": index},
            "job": json.dumps({"python_module": "digits_trainer.task", "package_uris": [], "job_args": []}),
            "open_ports": [3333],
        }
    )


@dataclass(frozen=True)
class Process:
    """A fork of `replica_server.py`, with the methods of `subprocess.Popen` that tests use."""

    pid: int
    code: Path

    def poll(self) -> int | None:
        return int(self.code.read_text()) if self.code.exists() else None

    def wait(self) -> int:
        code = eventually(lambda: (self.poll(),) if self.code.exists() else None)
        assert code is not None and code[0] is not None
        return code[0]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start the process whose forks are replicas. It ends with this process."""
    server = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("replica_server.py")],
        env={"PATH": os.environ["PATH"], **_PYTHON},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


@dataclass(frozen=True)
class Replica:
    name: str
    process: Process
    out: Path
    err: Path

    def wait(self) -> int:
        """Return the exit code."""
        return self.process.wait()

    def output(self) -> str:
        return self.out.read_text()

    def errors(self) -> str:
        return self.err.read_text()

    def digest(self) -> str:
        """Return the digest of the weights that the replica printed at the end."""
        found = re.findall(r"weights sha256 ([0-9a-f]{64})$", self.output(), re.MULTILINE)
        assert len(found) == 1, (self.name, self.output())
        return str(found[0])

    def wait_for(self, text: str) -> None:
        """Wait until the replica has printed `text`; it must not end before."""

        def is_printed() -> bool:
            ended = self.process.poll() is not None
            printed = text in self.output()
            assert printed or not ended, (self.name, text, self.output(), self.errors())
            return printed

        eventually(is_printed, what=lambda: (self.name, text, self.output(), self.errors()))


@dataclass(frozen=True)
class Job:
    folder: Path
    pools: Mapping[int, list[str]]
    started: list[Replica]

    @property
    def model_dir(self) -> Path:
        return self.folder / "model"

    @property
    def checkpoint_dir(self) -> Path:
        return self.folder / "checkpoints"

    def port(self, pool: int, index: int = 0) -> int:
        return int(self.pools[pool][index].rpartition(":")[2])

    def environment(self, pool: int, index: int) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            **_PYTHON,
            "CLUSTER_SPEC": cluster_spec(self.pools, pool, index),
            "CLOUD_ML_JOB_ID": "2970106362064797696",
            "AIP_MODEL_DIR": f"{self.model_dir}/",
            "AIP_CHECKPOINT_DIR": f"{self.checkpoint_dir}/",
        }

    def start(
        self,
        pool: int,
        index: int = 0,
        *arguments: str,
        data: str = str(DATA),
        environment: Mapping[str, str] | None = None,
    ) -> Replica:
        """Start one replica; `environment` overrides its variables."""
        name = f"workerpool{pool}-{index}"
        out, err, code = (
            self.folder / f"{name}.{len(self.started)}.{kind}" for kind in ("out", "err", "code")
        )
        out.touch()
        err.touch()
        sent = {
            **{"out": str(out), "err": str(err), "code": str(code), "folder": str(self.folder)},
            "arguments": ["--data", data, *arguments],
            "environment": {**self.environment(pool, index), **(environment or {})},
        }
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(sent) + "\n")
        server.stdin.flush()
        replica = Replica(name, Process(int(server.stdout.readline()), code), out, err)
        self.started.append(replica)
        return replica

    def start_all(self, *arguments: str, data: str = str(DATA)) -> list[Replica]:
        """Start all replicas, the chief last: none may depend on its being started first."""
        members = [(pool, index) for pool, addresses in self.pools.items() for index in range(len(addresses))]
        return [self.start(pool, index, *arguments, data=data) for pool, index in reversed(members)][::-1]

    def run(self, *arguments: str, data: str = str(DATA)) -> list[Replica]:
        """Run all replicas until they end with success."""
        replicas = self.start_all(*arguments, data=data)
        for replica in replicas:
            assert replica.wait() == 0, (replica.name, replica.output(), replica.errors())
            assert replica.errors() == "", replica.name
        return replicas


class NewJob(Protocol):
    def __call__(self, *, workers: int = 0, parameter_servers: int = 0, evaluators: int = 0) -> Job:
        """Return a job with a chief and so many others, none of them started."""


@contextlib.contextmanager
def jobs_in(new_folder: Callable[[], Path]) -> Iterator[NewJob]:
    """Yield a factory of jobs; afterwards kill the replicas that are still running."""
    jobs: list[Job] = []

    def make(*, workers: int = 0, parameter_servers: int = 0, evaluators: int = 0) -> Job:
        sizes = {0: 1, 1: workers, 2: parameter_servers, 3: evaluators}
        ports = iter(free_ports(sum(sizes.values())))
        pools = {p: [f"127.0.0.1:{next(ports)}" for _ in range(size)] for p, size in sizes.items() if size}
        job = Job(new_folder(), pools, [])
        jobs.append(job)
        return job

    try:
        yield make
    finally:
        for job in jobs:
            for replica in job.started:
                replica.process.kill()
                replica.process.wait()
