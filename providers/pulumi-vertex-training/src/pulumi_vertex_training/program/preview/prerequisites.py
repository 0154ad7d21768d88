"""The names in a job's inputs that a lookup must pass over, and the lookup itself.

A value that a resource of this program makes is passed over in a preview: it may not exist yet. In a
deployment it exists by the time the job is compared. The look-ups of a new job are made here, because the
engine asks a provider nothing but its check about it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi import _types
from pulumi.output import Unknown
from pulumi.runtime.mocks import MockMonitor

from pulumi_vertex_training.core.state.hidden_input import HIDDEN_INPUT
from pulumi_vertex_training.costs import reports
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview import declared_names, shared_quota
from pulumi_vertex_training.program.preview.lookups import program_lookups
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.waits import Wait, WaitResult, program_waits
from vertex_training.fields.decode import UNKNOWN
from vertex_training.fields.schema import child
from vertex_training.findings.problems import errors

if TYPE_CHECKING:
    from pulumi_vertex_training.core.running.prerequisites import Prerequisites


def is_engines_preview() -> bool:
    """Return whether the program runs in a preview of the engine, and not with mocks."""
    is_mocked = isinstance(pulumi.runtime.settings.get_monitor(), MockMonitor)
    return pulumi.runtime.get_root_resource() is not None and not is_mocked and pulumi.runtime.is_dry_run()


def lookups_input(
    declaration: Mapping[str, Any], opts: pulumi.ResourceOptions | None
) -> asyncio.Future[dict[str, Any]]:
    """Return the input by which the provider of a job learns what it may look up."""
    declared_names.collect()
    return asyncio.ensure_future(_lookups_input(declaration, opts))


def look_up_job(
    resource: pulumi.CustomResource,
    collection: str,
    resource_name: str,
    declaration: Mapping[str, Any],
    opts: pulumi.ResourceOptions | None,
    *,
    stays: Callable[[], Awaitable[None] | None],
) -> None:
    """Look up the needs of a job that will run in a preview. A missing one fails the preview.

    `stays` is called for a job that will not run.
    """
    if not is_engines_preview():
        return
    waits, wait = program_waits(), Wait(name=resource_name)

    async def look() -> None:
        with waits.open(wait):
            hidden = await vars(resource)[HIDDEN_INPUT].future()
            replaces = (hidden or {}).get("identity") or ""
            found = await _prerequisites(collection, resource_name, declaration, opts, replaces)
            for problem in found.problems:
                log = messages.error if problem.level == "error" else messages.warn
                log(str(problem), resource)
            if found.subject is not None and found.target is not None:
                shared_quota.add(found.subject, found.target)
        if not errors(found.problems):
            return
        wait.end(WaitResult.FAILED, "")
        await waits.rest()  # All jobs are reported before the program ends.
        await shared_quota.reported()
        names = ", ".join(sorted(each.name for each in waits.all if each.result is WaitResult.FAILED))
        raise pulumi.RunError(f"{names}: cannot be submitted as declared; the errors are listed by resource")

    # The id of a job that will run is not known in a preview.
    resource.id.apply(lambda id_: look() if isinstance(id_, Unknown) else stays(), run_with_unknowns=True)


async def _prerequisites(
    collection: str,
    resource_name: str,
    declaration: Mapping[str, Any],
    opts: pulumi.ResourceOptions | None,
    replaces: str,
) -> Prerequisites:
    # imported only if needed
    from pulumi_vertex_training.core.running.declaration import declared_in
    from pulumi_vertex_training.core.running.prerequisites import prerequisites_of

    inputs = _Inputs(depends_on_others=_depends_on_others(opts))
    values = await inputs.read(declaration)
    return await asyncio.to_thread(
        prerequisites_of,
        declared_in(collection),
        resource_name,
        values,
        passed_over=inputs.passed_over,
        lookups=program_lookups(),
        settings=stack_settings(),
        is_preview=True,
        replaces=replaces,
        made=declared_names.names(),
    )


async def _lookups_input(
    declaration: Mapping[str, Any], opts: pulumi.ResourceOptions | None
) -> dict[str, Any]:
    inputs = _Inputs(depends_on_others=_depends_on_others(opts))
    # The engine reports why an output failed when the resource is registered.
    with contextlib.suppress(Exception):
        await inputs.read(declaration)
    return {"passed_over": sorted(inputs.passed_over)}


async def values_of(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a declaration, with markers for those that are not known yet."""
    return await _Inputs(depends_on_others=False).read(declaration)


async def without_secrets(declaration: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the values of a declaration without secrets, and whether it has any."""
    inputs = _Inputs(depends_on_others=False, hides_secrets=True)
    return await inputs.read(declaration), inputs.has_secret


class _Inputs:
    """The values of a job's inputs as far as they are known, and the paths that are not looked up."""

    def __init__(self, *, depends_on_others: bool, hides_secrets: bool = False) -> None:
        self.passed_over: set[str] = {""} if depends_on_others else set()
        self.has_secret = False
        self._hides_secrets = hides_secrets

    async def read(self, declaration: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values, with markers for those that are not known yet."""
        return {name: await self._value(value, name) for name, value in declaration.items()}

    async def _value(self, value: object, path: str) -> Any:
        if isinstance(value, pulumi.Output):
            is_secret = await value.is_secret()
            if is_secret or await _is_made_here(value):
                self.passed_over.add(path)
            is_known = await value.is_known()
            value = await value.future(with_unknowns=True)
            if is_secret:
                self.has_secret = True
            if is_secret and self._hides_secrets:
                return reports.public(_plain(value))
            if value is None and not is_known:  # `apply` of an unknown output
                return UNKNOWN
        if isinstance(value, Unknown):
            return UNKNOWN
        if _types.is_input_type(type(value)):
            value = _types.input_type_to_dict(value)
        if isinstance(value, Mapping):
            return {name: await self._value(item, child(path, str(name))) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [await self._value(item, f"{path}[{position}]") for position, item in enumerate(value)]
        if isinstance(value, str) and _names_own_resource(path, value):
            self.passed_over.add(path)
        return value


def _plain(value: object) -> Any:
    """Return the value of an output with dictionaries in place of argument classes."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if _types.is_input_type(type(value)):
        value = _types.input_type_to_dict(value)
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


async def _is_made_here(value: pulumi.Output[Any]) -> bool:
    """Return whether a preview may not look a value up, because a resource of this program makes it."""
    if not pulumi.runtime.is_dry_run():
        return False
    return any(not isinstance(one, pulumi.StackReference) for one in await value.resources())


def _names_own_resource(path: str, text: str) -> bool:
    if not declared_names.names():
        return False
    from pulumi_vertex_training.runs.prerequisites import kind_in, names_in  # imported only if needed

    need = kind_in(path, text)
    return any(declared_names.is_made(name, need) for name in names_in(path, text))


def _depends_on_others(opts: pulumi.ResourceOptions | None) -> bool:
    """Return whether a job depends on a resource that may make anything, such as a command."""
    depends_on = opts.depends_on if opts else None
    if depends_on is None:
        return False
    listed = depends_on if isinstance(depends_on, (list, tuple)) else [depends_on]
    return any(
        not isinstance(one, pulumi.CustomResource)
        or not (one.pulumi_resource_type.startswith("gcp:") or isinstance(one, Resource))
        for one in listed
    )
