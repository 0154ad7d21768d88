"""Delete what a run has created: by Pulumi's states, and then by the run's id in labels and names.

It can be interrupted and repeated.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pulumi_vertex_training.cloud.errors import CloudError
from scripts.verify_google.rest import JOB_KINDS, Rest, has_ended
from scripts.verify_google.stacks import Side

LATE_SECONDS = 600.0
"""A request of a killed command may still be carried out for so long after the command's last output."""

_STACK_LABEL = "pulumi-stack"
_LAST_SECONDS = 120.0


def clean(side: Side, *, killed: bool, report: Callable[[str], None]) -> list[str]:
    """Delete everything of a run, which may have been `killed`. Return problems, which do not stop it."""
    late_until = 0.0 if not killed or _end_commands(side.run) else side.last_output() + LATE_SECONDS
    problems = side.destroy(killed=killed)
    rest = Rest(endpoint=side.endpoint)
    for delete in (_jobs_and_models, _buckets, _repositories):
        try:
            delete(rest, side, report)
        except CloudError as error:
            problems.append(str(error))
    if late_until > time.time():
        clock = datetime.datetime.fromtimestamp(late_until).astimezone().strftime("%H:%M")
        problems.append(f"Until {clock}, requests of the killed command may still create something.")
    return problems


def _end_commands(run: str) -> bool:
    """Let Pulumi's commands of a killed run end. Return whether all did, so that no call is under way."""
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=False)  # noqa: S607
    ended = []
    for line in listed.stdout.splitlines():
        process, command, *arguments = line.split()
        if Path(command).name == "pulumi" and run in arguments:
            ended.append(_end_process(int(process)))
    return bool(ended) and all(ended)


def _end_process(process: int) -> bool:
    """Interrupt a process, which ends after its calls in flight. Return False if it had to be killed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGINT)
        until = time.monotonic() + _LAST_SECONDS
        while time.monotonic() < until:
            os.kill(process, 0)
            time.sleep(0.2)
        os.kill(process, signal.SIGKILL)
        return False
    return True


def _jobs_and_models(rest: Rest, side: Side, report: Callable[[str], None]) -> None:
    query = {"filter": f'labels.{_STACK_LABEL}="{side.run}"', "pageSize": "100"}
    for kind in (*JOB_KINDS, "models"):
        # The labels are compared here as well: a list that ignored its filter would name others' resources.
        left = {
            str(each["name"]): each
            for each in rest.listed(f"{side.endpoint.parent}/{kind}", kind, query)
            if each.get("labels", {}).get(_STACK_LABEL) == side.run
        }
        if kind in JOB_KINDS:
            live = [name for name, job in left.items() if not has_ended(job)]
            for name in live:
                rest.call("POST", rest.url(f"{name}:cancel"))
            for name in live:
                rest.until(name)
        for name in left:
            rest.delete(name)
            report(f"deleted {name}")


def _buckets(rest: Rest, side: Side, report: Callable[[str], None]) -> None:
    for bucket in rest.listed("", "items", {"project": side.endpoint.project}):
        name = str(bucket["name"])
        if side.run not in name:
            continue
        for item in rest.listed(f"{name}/o", "items", {"versions": "true"}):
            address = rest.url(f"gs://{name}/{item['name']}")
            rest.call("DELETE", address, {"generation": str(item["generation"])})
        rest.delete(name)
        report(f"deleted gs://{name}")


def _repositories(rest: Rest, side: Side, report: Callable[[str], None]) -> None:
    parent = f"{side.endpoint.parent}/repositories"
    for repository in rest.listed(parent, "repositories"):
        name = str(repository["name"])
        if side.run in name:
            rest.delete(name)
            report(f"deleted {name}")
