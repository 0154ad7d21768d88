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
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.runtime import settings

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.core.state.hidden_input import INTERNAL
from pulumi_vertex_training.engine_values import SECRET, SIGNATURE
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.form import recorded_names, recorded_output
from pulumi_vertex_training.program.messages import masked
from pulumi_vertex_training.program.resource import stack_settings
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
"""The output with the pickled provider: the engine cannot delete a dynamic resource without it."""


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
    if _word(await _state_of(resource)) == _word(record.state_name):
        return
    from pulumi_vertex_training.core.running.provider import facts

    found = {**facts(declared, record)}
    if isinstance(found["error"], str):
        found["error"] = masked(found["error"])
    urn = str(await resource.urn.future())
    try:
        await asyncio.to_thread(_record, urn, *recorded_names(resource, found, secret))
    except Exception as error:  # whatever an unknown engine or SDK raises
        messages.warn(
            f"the end of {declared.noun} {record.job_id} is not recorded in Pulumi's state "
            f"({type(error).__name__}: {_first_line(error)}). To record it, run `pulumi refresh`.",
            resource,
        )


def _word(state: str | None) -> str:
    """Return the word of a state: the package records no more of it."""
    return (state or "").rpartition("STATE_")[2]


async def _state_of(resource: pulumi.Resource) -> str | None:
    """Return the state that the resource was registered with, without a question to the engine."""
    return await _registered(resource, "state")


async def recorded_end(resource: pulumi.Resource | None) -> JobRecord | None:
    """Return the facts that Pulumi's state has of a job that has ended; None if it has no end of it."""
    if resource is None or last_run(await _state_of(resource), LookupResult.NO_ANSWER) not in ENDED:
        return None
    from pulumi_vertex_training.cloud.jobs import from_wire

    names = ("name", "display_name", "state", "error", "create_time", "start_time", "end_time")
    facts = {name: await _registered(resource, name) for name in names}
    times = {f"{name}Time": facts[f"{name}_time"] for name in ("create", "start", "end")}
    record = from_wire(
        {
            **{key: value for key, value in times.items() if value},
            "name": facts["name"] or "",
            "displayName": facts["display_name"] or "",
            "state": facts["state"],
            "error": {"message": facts["error"]} if facts["error"] else None,
        }
    )
    return record if record.state.is_terminal else None


async def _registered(resource: pulumi.Resource, name: str) -> str | None:
    """Return the value of an output as the resource was registered with it; None if it is no text."""
    output = recorded_output(resource, name)
    value = await output.future() if output is not None else None
    return value if isinstance(value, str) else None


def _record(urn: str, found: dict[str, Any], secret: Collection[str]) -> None:
    """Replace the facts among the recorded outputs. Raises the errors of the engine's client."""
    from pulumi.runtime.proto import resource_pb2

    outputs = _recorded(urn)
    if outputs is None or not _replace(outputs, found, secret):
        return
    if PROVIDER not in outputs.fields and INTERNAL not in outputs.fields:
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
        present = known
        if known is not None and _is_secret(known):
            present = known.struct_value.fields["value"]
        if present == fact or (present is None and fact.HasField("null_value")):
            continue
        changed = True
        hidden = name in secret or (known is not None and _is_secret(known))
        outputs.fields[name].CopyFrom(_as_secret(fact) if hidden else fact)
    return changed


def _is_secret(value: Value) -> bool:
    fields = value.struct_value.fields
    return SIGNATURE in fields and fields[SIGNATURE].string_value == SECRET


def _as_secret(value: Value) -> Value:
    made: Value = type(value)()
    made.struct_value.fields[SIGNATURE].string_value = SECRET
    made.struct_value.fields["value"].CopyFrom(value)
    return made


def _has_plan() -> bool:
    """Return whether the deployment follows an update plan, which refuses all that it does not have.

    The engine tells a program nothing of a plan, so the command line of `pulumi` is read.
    """
    if os.environ.get("PULUMI_EXPERIMENTAL", "").lower() in ("1", "true"):
        return True
    command = engine_command.of_this_process(stack_settings().timeouts)
    return command is not None and command.has_plan


def _first_line(error: Exception) -> str:
    words = getattr(error, "details", None)
    return str(words() if callable(words) else error).partition("\n")[0]
