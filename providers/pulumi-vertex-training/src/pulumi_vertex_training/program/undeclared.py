"""Delete what an interrupted deployment created for resources that the program does not declare any more.

No state has them, so the engine asks no provider about them; only the program knows what is declared. It
looks after the last registration, and only if there was a note of an interrupted creation when it began
(`core.interrupted.creation_notes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pulumi

from pulumi_vertex_training.core.interrupted import creation_notes
from pulumi_vertex_training.dynamic.process import engine_address
from pulumi_vertex_training.program.resource import stack_settings
from pulumi_vertex_training.program.waiting.waits import program_waits


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A declared resource and its key; `key` is None for one that has none."""

    resource: pulumi.CustomResource
    key: asyncio.Future[str | None] | None = None


StackKey = Callable[[], Awaitable[str | None]]
"""A function that returns the key of the stack, None if it is not known."""


def follow(stack_key: StackKey, declared: Sequence[Keyed]) -> bool:
    """Remove or announce at the program's end what is not in `declared`, which grows until then.

    Return False, without asking for the key, if no interrupted creation is noted.
    """
    found = creation_notes.begun(stack_settings()) if engine_address() else []
    if found:
        program_waits()  # counts the calls of the program from now on
        _: pulumi.Output[None] = pulumi.Output.from_input(_sweep(found, stack_key, declared))
    return bool(found)


async def _sweep(found: Collection[Path], stack_key: StackKey, declared: Sequence[Keyed]) -> None:
    await program_waits().rest()  # Everything is registered, also what an output leads to.
    try:
        stack = await stack_key()
        keys = {await one.key for one in declared if one.key is not None}
        ids = {await one.resource.id.future() for one in declared}
    except Exception:
        return  # The engine reports why a resource failed. The next deployment looks again.
    if not stack or None in keys:
        return
    settings = stack_settings()
    for note, creation in creation_notes.undeclared(
        found, stack, {key for key in keys if key}, {id_ for id_ in ids if id_}
    ):
        if pulumi.runtime.is_dry_run():
            pulumi.log.info(creation.announcement)
        else:
            lines: list[str] = []
            await asyncio.to_thread(creation_notes.remove, note, settings, lines.append)
            for line in lines:
                pulumi.log.info(line)
