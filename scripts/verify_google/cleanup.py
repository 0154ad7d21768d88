"""Delete what a run has created: by Pulumi's states, and then by the run's id in labels and names.

It can be interrupted and repeated.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pulumi_vertex_training.cloud.errors import CloudError
from scripts.verify_google.journal import Record
from scripts.verify_google.rest import JOB_KINDS, Rest, has_ended
from scripts.verify_google.stacks import Side

LATE_SECONDS = 600.0
"""A request of a killed command may still be carried out for so long after the command was started."""

_STACK_LABEL = "pulumi-stack"
_LAST_SECONDS = 120.0


@dataclass(kw_only=True)
class Result:
    """`problems` are sentences. `late_until` is the time until which something may still appear, or 0."""

    problems: list[str] = field(default_factory=list)
    late_until: float = 0.0

    @property
    def is_complete(self) -> bool:
        return not self.problems and not self.late_until


def clean(side: Side, record: Record, *, killed: bool, report: Callable[[str], None]) -> Result:
    """Delete everything of a run, which may have been `killed`. Problems do not stop it."""
    has_ended = not killed or _end_command(record)
    result = Result(problems=side.destroy(killed=killed))
    rest = Rest(endpoint=side.endpoint)
    for delete in (_jobs_and_models, _buckets, _repositories):
        try:
            delete(rest, side, report)
        except CloudError as error:
            result.problems.append(str(error))
    if not has_ended and record.at + LATE_SECONDS > time.time():
        result.late_until = record.at + LATE_SECONDS
    return result


def _end_command(record: Record) -> bool:
    """Let the last command of a killed run end. Return whether it was alive, so that no call is under way."""
    if not record.process:
        return True
    shown = subprocess.run(  # noqa: S603  no shell
        ["ps", "-o", "command=", "-p", str(record.process)],  # noqa: S607  wherever the system has it
        capture_output=True,
        text=True,
        check=False,
    )
    if record.run not in shown.stdout:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(record.process, signal.SIGINT)
        until = time.monotonic() + _LAST_SECONDS
        while time.monotonic() < until:
            os.kill(record.process, 0)
            time.sleep(0.2)
        os.kill(record.process, signal.SIGKILL)
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
                rest.ended(name)
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
