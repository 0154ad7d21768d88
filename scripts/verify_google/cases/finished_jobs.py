"""Custom jobs that run to their ends: what a replica sees, what it leaves, how it fails."""

from __future__ import annotations

import io
import zipfile
from functools import partial

from scripts.verify_google.cases.case import (
    IMAGE,
    MACHINE,
    SHOW,
    Builder,
    Case,
    Json,
    custom_job,
    make_bucket,
    pool,
    printed,
    put,
)
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import Names, Recorder

_MEET = """
import os, socket, time, json
found = json.loads(os.environ["CLUSTER_SPEC"])
host, _, port = found["cluster"]["workerpool0"][0].rpartition(":")
if found["task"]["type"] == "workerpool0":
    server = socket.create_server(("", int(port)))
    server.settimeout(240)
    for _ in range(sum(map(len, found["cluster"].values())) - 1):
        server.accept()[0].recv(1)
else:
    while True:
        try:
            socket.create_connection((host, int(port)), 5).sendall(b"x")
            break
        except OSError:
            time.sleep(1)
"""
"""The replicas report to the chief at its address; a job ends with its chief, so the chief waits for them."""

_WHEEL = "verify_trainer-0.1-py3-none-any.whl"


def _output(names: Names) -> Json:
    return {"baseOutputDirectory": {"outputUriPrefix": f"gs://{names.bucket}/out"}}


def _succeeding(names: Names) -> Json:
    env = [
        {"name": "VERIFY_PLAIN", "value": "one"},
        {"name": "VERIFY_REFERRING", "value": "$(VERIFY_PLAIN)-two"},
        {"name": "VERIFY_ESCAPED", "value": "$$(VERIFY_PLAIN)"},
        {"name": "VERIFY_UNKNOWN", "value": "$(VERIFY_MISSING)"},
        {"name": "CLOUD_ML_REGION", "value": "mine"},
    ]
    args = ["--plain", "$(VERIFY_PLAIN)", "$(VERIFY_MISSING)", "$(AIP_MODEL_DIR)"]
    return custom_job(names, pool(env=env, args=args), **_output(names))


def _failing(names: Names) -> Json:
    return custom_job(names, pool("import sys; print('last words', flush=True); sys.exit(3)"))


def _slow(names: Names) -> Json:
    return custom_job(names, pool("import time; time.sleep(3600)"), timeout="60s")


def _distributed(names: Names) -> Json:
    task = SHOW + _MEET
    return custom_job(names, pool(task), pool(task), {}, pool(task), **_output(names))


def _packaged(names: Names) -> Json:
    task = {
        "executorImageUri": IMAGE,
        "packageUris": [f"gs://{names.bucket}/{_WHEEL}"],
        "pythonModule": "trainer.task",
        "args": ["--epochs=1", "--name", "a b"],
    }
    machine = {"machineType": MACHINE}
    return custom_job(names, {"machineSpec": machine, "replicaCount": "1", "pythonPackageSpec": task})


def _run(at: Recorder, build: Builder, *, replicas: int) -> None:
    """Run a job to its end, and record its answers and the output of its replicas."""
    job = build(at.names)
    if "baseOutputDirectory" in job["jobSpec"]:
        make_bucket(at)
    created = at.submit("customJobs", job, step="create")
    if not created.is_success:
        raise at.unexpected("the creation of a job", created)
    name = str(created.body["name"])
    at.wait_for(name)
    at.call("GET", at.vertex(name), step="get, ended")
    if replicas:
        for task, shown in sorted(printed(at, name, replicas=replicas).items()):
            at.note(f"replica {task}", shown)
    at.call("POST", at.vertex(f"{name}:cancel"), {}, step="cancel, ended")
    at.operation(at.call("DELETE", at.vertex(name)), step="delete")


def _run_package(at: Recorder) -> None:
    make_bucket(at)
    put(at, _WHEEL, _wheel())
    _run(at, _packaged, replicas=1)


def _wheel() -> bytes:
    """Return a wheel whose module prints its arguments and variables; pip needs no build tools for it."""
    information = "verify_trainer-0.1.dist-info"
    files = {
        "trainer/__init__.py": "",
        "trainer/task.py": SHOW,
        f"{information}/METADATA": "Metadata-Version: 2.1\nName: verify-trainer\nVersion: 0.1\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{information}/RECORD"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in {**files, f"{information}/RECORD": record}.items():
            archive.writestr(name, text)
    return stream.getvalue()


_MESSAGE = Allowed(step="*", path="error.message", reason="the emulator adds the last lines of the log")
_EARLY = Allowed(step="*", path="startTime", reason="a job that ends early may have no start")

CASES = (
    Case(
        name="succeeds",
        about="one replica: variables, arguments, directories, the end",
        rows=(
            "Custom jobs: the environment of a replica",
            "Custom jobs: differences of `CLUSTER_SPEC` between the documentation and real jobs",
            "Custom jobs: containers",
            "Custom jobs: the output directory",
            "Custom jobs: the end of a job",
            "Custom jobs: logs",
        ),
        steps=partial(_run, build=_succeeding, replicas=1),
        jobs=(_succeeding,),
        stores=True,
        allowed=(_EARLY,),
    ),
    Case(
        name="fails",
        about="a program that exits with 3: state, code and words of the error",
        rows=("Custom jobs: the end of a job",),
        steps=partial(_run, build=_failing, replicas=0),
        jobs=(_failing,),
        allowed=(_MESSAGE, _EARLY),
    ),
    Case(
        name="times-out",
        about="a job beyond its timeout of 60 s: state, code and words of the error",
        rows=("Custom jobs: timeout",),
        steps=partial(_run, build=_slow, replicas=0),
        jobs=(_slow,),
        allowed=(_MESSAGE,),
    ),
    Case(
        name="package",
        about="a Python package: module, arguments, variables",
        rows=("Custom jobs: Python packages",),
        steps=_run_package,
        jobs=(_packaged,),
        stores=True,
        allowed=(_EARLY,),
    ),
    Case(
        name="distributed",
        about="chief, worker, a skipped pool, evaluator: `CLUSTER_SPEC`, `TF_CONFIG`, the network",
        rows=(
            "Custom jobs: replicas",
            "Custom jobs: the environment of a replica",
            "Custom jobs: the network of a job",
        ),
        steps=partial(_run, build=_distributed, replicas=3),
        jobs=(_distributed,),
        stores=True,
        allowed=(_EARLY,),
    ),
)
