"""The command and the environment of one replica on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from vertex_training.emulator.jobs import sandbox
from vertex_training.emulator.jobs.plan import Plan, ReplicaPlan
from vertex_training.emulator.jobs.replicas import Command
from vertex_training.environment.expansion import expand
from vertex_training.environment.replica import host_name, replica_environment
from vertex_training.specs.custom_job import CustomJobSpec
from vertex_training.topology.pools import WorkerPoolSpec

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOCAL = "127.0.0.1,localhost"


def addresses_by_pool(pools: Sequence[WorkerPoolSpec], addresses: Sequence[str]) -> list[list[str]]:
    """One list of addresses a pool, from one list over all replicas."""
    rest = iter(addresses)
    return [[next(rest) for _ in range(pool.replica_count)] for pool in pools]


def replica_command(
    plan: Plan,
    spec: CustomJobSpec,
    replica: ReplicaPlan,
    *,
    addresses: Sequence[Sequence[str]],
    venv: Path | None,
    folder: Path,
) -> Command:
    """What to start for a replica whose own folder is `folder`; makes the folder. Raises `OSError`."""
    names = [
        host_name(plan.job_id, pool, index)
        for pool, each in enumerate(spec.worker_pool_specs)
        for index in range(each.replica_count)
    ]
    view = sandbox.View(
        folder=folder.resolve(),
        buckets=plan.buckets_dir.resolve(),
        hidden=plan.data_dir.resolve(),
        visible=(*sandbox.interpreter_paths(), *([venv.resolve()] if venv else ())),
        hostname=host_name(plan.job_id, replica.pool, replica.index),
        hosts=_hosts(names),
    )
    sandbox.make_folders(view)
    from_service = replica_environment(
        spec=spec,
        pools=spec.worker_pool_specs,
        addresses=addresses,
        pool=replica.pool,
        index=replica.index,
        job_id=plan.job_id,
        project_number=plan.project_number,
        location=plan.location,
        base_output_directory=spec.base_output_directory,
    )
    environment = {**_base(plan, view, venv), **plan.environment, **from_service}
    return Command(
        argv=tuple(expand(word, from_service) for word in replica.argv),
        environment=_without_proxy_for_loopback(environment),
        cwd=view.folder / "work",
        sandbox=plan.sandbox,
        view=view if plan.sandbox.kind == "namespaces" else None,
    )


def _base(plan: Plan, view: sandbox.View, venv: Path | None) -> dict[str, str]:
    """What a program finds in any environment; nothing of the emulator's own gets in."""
    return {
        "PATH": os.pathsep.join(
            [*([str(venv / "bin")] if venv else []), str(_python_folder(view.folder)), _SYSTEM_PATH]
        ),
        "HOME": str(view.folder / "home"),
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp" if plan.sandbox.kind == "namespaces" else str(view.folder / "tmp"),  # noqa: S108
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // len(plan.replicas))),
    }


def _python_folder(folder: Path) -> Path:
    """A folder in which `python` and `python3` are the host's Python; made where its own has not both."""
    own = Path(sys.executable).parent
    if all(_same(own / name, Path(sys.executable)) for name in ("python", "python3")):
        return own
    shims = folder / "bin"
    shims.mkdir(exist_ok=True)
    for name in ("python", "python3"):
        quoted = sys.executable.replace("'", "'\\''")
        (shims / name).write_text(f"#!/bin/sh\nexec '{quoted}' \"$@\"\n")
        (shims / name).chmod(0o755)
    return shims


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _without_proxy_for_loopback(environment: Mapping[str, str]) -> dict[str, str]:
    """TensorFlow and JAX send even loopback traffic to a proxy that the program's environment names."""
    names = ("no_proxy", "NO_PROXY")
    extended = {name: ",".join(filter(None, [environment.get(name, ""), _LOCAL])) for name in names}
    return {**environment, **extended}


def _hosts(names: Sequence[str]) -> str:
    """The host's /etc/hosts with the names of the job's machines."""
    try:
        text = Path("/etc/hosts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = "127.0.0.1 localhost\n"
    return text.rstrip("\n") + "\n" + "".join(f"127.0.0.1 {name}\n" for name in names)
