"""Record the end of a job in Pulumi's state, in the deployment that saw it.

Without that only `pulumi refresh` records an end, and a job whose record the service then deletes would run
again. The engine rewrites the outputs of a resource that it has already registered, once in a deployment, if
it gets all of them: the pickled provider, which a later deletion needs, and secrets, which stay encrypted.
A program knows its own inputs only, so the recorded outputs are read from the engine. This is the only module
that uses these calls; `test_recording.py` fails if a later SDK lacks them.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.runtime import settings

from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.messages import masked
from pulumi_vertex_training.runs.policies.run_status import ENDED, LookupResult, last_run

if TYPE_CHECKING:
    from pulumi_vertex_training.cloud.jobs import JobRecord
    from pulumi_vertex_training.core.running.declaration import JobResourceType

Struct = Any
Value = Any
"""Messages of Google's protocol buffers, which are not imported here: Pulumi's requests contain them."""

READ = "pulumi:pulumi:getResource"
"""The engine's own function that returns the recorded outputs of a resource."""

PROVIDER = "__provider"
"""The output with the pickled provider: the engine cannot delete a resource without it."""

_SIGNATURE, _SECRET = "4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270"
"""The key, and its value, of an object that represents a secret between the engine and a program."""

_GENERATIONS = 8


async def record_end(
    resource: pulumi.Resource | None,
    declared: JobResourceType,
    record: JobRecord,
    *,
    secret: Collection[str] = (),
) -> None:
    """Record the facts of a job that has ended. Do nothing if they are recorded, and under an update plan.

    `secret` are the resource's `additional_secret_outputs`. Nothing fails if the end cannot be recorded:
    `pulumi refresh` records it, too.
    """
    if resource is None or settings.get_monitor() is None or not record.state.is_terminal:
        return
    if await _state_of(resource) == record.state_name:
        return
    from pulumi_vertex_training.core.running.provider import facts

    found = {**facts(declared, record)}
    if isinstance(found["error"], str):
        found["error"] = masked(found["error"])
    urn = str(await resource.urn.future())
    try:
        await asyncio.to_thread(_record, urn, found, frozenset(secret))
    except Exception as error:  # whatever an unknown engine or SDK raises
        messages.warn(
            f"the end of {declared.noun} {record.job_id} is not recorded in Pulumi's state "
            f"({type(error).__name__}: {_first_line(error)}). To record it, run `pulumi refresh`.",
            resource,
        )


async def _state_of(resource: pulumi.Resource) -> str | None:
    """Return the state that the resource was registered with, without a question to the engine."""
    output = vars(resource).get("state")
    state = await output.future() if isinstance(output, pulumi.Output) else None
    return state if isinstance(state, str) else None


async def recorded_end(resource: pulumi.Resource | None) -> JobRecord | None:
    """Return the facts that Pulumi's state has of a job that has ended; None if it has no end of it."""
    if resource is None or settings.get_monitor() is None:
        return None
    if last_run(await _state_of(resource), LookupResult.NO_ANSWER) not in ENDED:
        return None
    from pulumi_vertex_training.cloud.jobs import from_wire

    urn = str(await resource.urn.future())
    try:
        outputs = await asyncio.to_thread(_recorded, urn)
        if outputs is None:
            return None
    except Exception:  # whatever an unknown engine or SDK raises
        return None
    facts = {name: _plain(value).string_value for name, value in outputs.fields.items()}
    error = facts.get("error")
    times = {f"{name}Time": facts.get(f"{name}_time") for name in ("create", "start", "end")}
    record = from_wire(
        {
            **{key: value for key, value in times.items() if value},
            "name": facts.get("name") or "",
            "displayName": facts.get("display_name") or "",
            "state": facts.get("state"),
            "error": {"message": error} if error else None,
        }
    )
    return record if record.state.is_terminal else None


def _record(urn: str, found: dict[str, Any], secret: Collection[str]) -> None:
    """Replace the facts among the recorded outputs. Raises the errors of the engine's client."""
    from pulumi.runtime.proto import resource_pb2

    outputs = _recorded(urn)
    if outputs is None or PROVIDER not in outputs.fields or not _replace(outputs, found, secret):
        return
    monitor: Any = settings.get_monitor()
    monitor.RegisterResourceOutputs(resource_pb2.RegisterResourceOutputsRequest(urn=urn, outputs=outputs))


def _recorded(urn: str) -> Struct | None:
    """Return all outputs of a resource as the engine has them, None under an update plan.

    The engine gives the function a default provider, which is a resource that no plan has. Raises the errors
    of the engine's client.
    """
    if _has_plan():
        return None
    from pulumi.runtime.proto import resource_pb2

    monitor: Any = settings.get_monitor()
    request = resource_pb2.ResourceInvokeRequest(tok=READ)
    request.args["urn"] = urn
    answer = monitor.Invoke(request)
    return getattr(answer, "return").fields["state"].struct_value


def _replace(outputs: Struct, found: dict[str, Any], secret: Collection[str]) -> bool:
    """Put the facts into the outputs; secrets stay secret. Return whether anything changed."""
    facts: Struct = type(outputs)()
    facts.update(found)
    changed = False
    for name, fact in facts.fields.items():
        known = outputs.fields.get(name)
        present = None if known is None else _plain(known)
        if present == fact or (present is None and fact.HasField("null_value")):
            continue
        changed = True
        hidden = name in secret or (known is not None and _is_secret(known))
        outputs.fields[name].CopyFrom(_as_secret(fact) if hidden else fact)
    return changed


def _is_secret(value: Value) -> bool:
    fields = value.struct_value.fields
    return _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET


def _plain(value: Value) -> Value:
    return value.struct_value.fields["value"] if _is_secret(value) else value


def _as_secret(value: Value) -> Value:
    made: Value = type(value)()
    made.struct_value.fields[_SIGNATURE].string_value = _SECRET
    made.struct_value.fields["value"].CopyFrom(value)
    return made


def _has_plan() -> bool:
    """Return whether the deployment follows an update plan, which refuses all that it does not have.

    The engine tells a program nothing of a plan, so the command line of `pulumi` is read.
    """
    if os.environ.get("PULUMI_EXPERIMENTAL", "").lower() in ("1", "true"):
        return True
    process = os.getppid()
    for _ in range(_GENERATIONS):
        if process <= 1:
            break
        parent, words = _parent_and_command(process)
        if any(word.partition("=")[0] in ("--plan", "--strict") for word in words):
            return True
        process = parent
    return False


def _parent_and_command(process: int) -> tuple[int, list[str]]:
    """Return the parent of a process and the words of its command."""
    of_linux = Path(f"/proc/{process}")
    if of_linux.exists():
        parent = (of_linux / "stat").read_text().rpartition(")")[2].split()[1]
        return int(parent), (of_linux / "cmdline").read_text().split("\0")
    ps = ["ps", "-o", "ppid=,args=", "-p", str(process)]
    words = subprocess.run(ps, capture_output=True, text=True, check=False).stdout.split()  # noqa: S603
    return (int(words[0]), words[1:]) if words else (0, [])


def _first_line(error: Exception) -> str:
    words = getattr(error, "details", None)
    return str(words() if callable(words) else error).partition("\n")[0]
