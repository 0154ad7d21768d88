"""Ask Pulumi for the state of the stack that is deployed, from the process of a provider.

The engine saves the inputs of a resource as a pending operation before it calls `create`. Only the state
shows what a killed deployment began, and the engine gives no provider the state. `pulumi stack export` reads
it, also while the stack is being deployed.
"""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pulumi_vertex_training import engine_command, pulumi_command, urns
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.provider import Failure
from pulumi_vertex_training.core.settings import Form
from pulumi_vertex_training.core.state import entries
from pulumi_vertex_training.core.state.entries import StackState
from pulumi_vertex_training.timeouts import Timeouts
from vertex_training.command_line.errors import CommandError

T = TypeVar("T")


class StateUnavailableError(Failure):
    """The state of the stack cannot be read. The message names the command, the reason and the remedy."""


@dataclass(kw_only=True)
class StateAnswer:
    """The state of the stack, or why it cannot be read. None while it is not asked for.

    `forms` are the forms of its resources before the operation. `lock` is held while it is asked for: other
    threads wait for the same answer.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    found: StackState | str | None = None
    forms: frozenset[Form] | None = None


def ask(urn: str) -> StackState:
    """Return what the state of the stack of `urn` has. Only the first call in an operation asks Pulumi.

    Raises StateUnavailableError, in later calls too.
    """
    answer = OPERATION.part(StateAnswer)
    with answer.lock:
        if answer.found is None:
            try:
                answer.found = export(
                    urn, OPERATION.settings.timeouts, lambda state: entries.read(state, urn)
                )
            except StateUnavailableError as error:
                answer.found = str(error)
        if isinstance(answer.found, str):
            raise StateUnavailableError(answer.found)
        return answer.found


def forms(urn: str) -> frozenset[Form]:
    """Return the forms of the resources that the stack of `urn` has; its state may be empty.

    Raises StateUnavailableError.
    """

    def read(state: dict[str, Any]) -> frozenset[Form]:
        entries.require_stack_of(urn, state)
        return entries.forms(entries.deployment_of(state))

    answer = OPERATION.part(StateAnswer)
    with answer.lock:
        if answer.forms is None:
            answer.forms = export(urn, OPERATION.settings.timeouts, read)
        return answer.forms


def export(urn: str, timeouts: Timeouts, read: Callable[[dict[str, Any]], T]) -> T:
    """Run `pulumi stack export`, with the program, folder and stack reference of the running deployment.

    Return what `read` makes of the state; it raises ValueError for one that cannot be used. Secrets stay
    encrypted. A deployment that names no stack uses the selected one, or PULUMI_STACK. Raises
    StateUnavailableError.
    """
    running = engine_command.find(timeouts)
    stack = urns.parse(urn).stack
    reference = running.stack_named(stack) if running else stack
    arguments = ["stack", "export", *pulumi_command.stack_arguments(reference)]
    words = shlex.join(["pulumi", *arguments])
    folder = (running and running.folder) or Path.cwd()
    program = running.program if running else shutil.which("pulumi")
    if program is None:
        raise StateUnavailableError(
            f"`{words}` cannot be run, because `pulumi` is not on PATH. "
            "Put the Pulumi CLI on PATH and run `pulumi up` again."
        )
    remedy = f"Run it in {folder}, fix what it reports, and run `pulumi up` again."
    try:
        ran = pulumi_command.run(arguments, folder, timeouts.pulumi, program=program)
    except (CommandError, OSError) as error:
        raise StateUnavailableError(f"`{words}` failed: {str(error).rstrip('.')}. {remedy}") from error
    if ran.code != 0:
        reason = ran.last_line.rstrip(".")
        raise StateUnavailableError(f"`{words}` failed with exit code {ran.code}: {reason}. {remedy}")
    try:
        return read(_object(ran.out))
    except ValueError as error:
        raise StateUnavailableError(
            f"`{words}` in {folder} printed a state that cannot be used: {error}. "
            f"Run `pulumi up --stack {stack}` in the folder of its project."
        ) from error


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
    return found
