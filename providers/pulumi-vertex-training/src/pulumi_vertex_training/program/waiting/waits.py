"""The waits of a program: which are open, how they ended or failed, and when nothing is left to wait for.

A failed job must not end the program while healthy jobs run: the engine would not create what depends on
them. So the wait for a failed job raises its error only when everything else has come to rest: no other wait
is open, the engine is not asked for anything, and the program itself has nothing left to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import shlex
import weakref
from collections.abc import Callable, Coroutine, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi

from pulumi_vertex_training import engine_command
from pulumi_vertex_training.program import messages
from pulumi_vertex_training.program.resource import is_constructed, stack_settings
from pulumi_vertex_training.program.waiting.interruption import Interrupted, unless_interrupted
from vertex_training.findings.words import visible_lines

_REST_TURNS = 1000
"""Turns of the event loop without a new wait or call after which a program is at rest.

An output that becomes known passes through some turns until the resource that depends on it is registered.
"""


class WaitResult(enum.Enum):
    """How a wait ended. The values are words of the summary."""

    FAILED = "failed"
    SUCCEEDED = "succeeded"
    CONTINUES = "still running"
    """The job is live, and the deployment no longer waits for it."""
    EARLIER = "ended earlier"
    """The job had ended without success before this deployment began."""


@dataclass(kw_only=True, eq=False)
class Wait:
    """A wait of the program, from the declaration of its resource on.

    `name` is the resource's in the program. `result` is how the wait ended, None before. `state` is the
    word for the state of its job then. `command` prints the logs, or is empty.
    """

    name: str
    result: WaitResult | None = None
    state: str = ""
    command: str = ""

    def end(self, result: WaitResult, state: str, command: str = "") -> None:
        """Record the end of the wait."""
        self.result, self.state, self.command = result, state, command


@dataclass(eq=False)
class Waits:
    """The waits of one program, in the order of their resources."""

    all: list[Wait] = field(default_factory=list)
    _open: int = 0
    _calls: int = 0
    _changes: int = 0
    _sleeper: asyncio.Future[None] | None = None

    @contextlib.contextmanager
    def open(self, wait: Wait) -> Iterator[None]:
        """Count a wait as open. The failures of others are held until it has ended."""
        if not any(wait is each for each in self.all):
            self.all.append(wait)
        self._open += 1
        self._changes += 1
        try:
            yield
        finally:
            self._open -= 1
            self._changed()

    def called(self, answer: asyncio.Future[Any]) -> None:
        """Count a call that runs in another thread, until its answer."""
        self._calls += 1
        self._changes += 1
        answer.add_done_callback(self._answered)

    async def rest(self) -> None:
        """Wait until the program is idle or interrupted."""
        with contextlib.suppress(Interrupted):
            await unless_interrupted(self._rest())

    async def _rest(self) -> None:
        while True:
            while self._open or self._calls:
                await self._change()
            seen = self._changes
            for _ in range(_REST_TURNS):
                await asyncio.sleep(0)
            if seen == self._changes and not (self._open or self._calls):
                return

    async def _change(self) -> None:
        if self._sleeper is None:
            self._sleeper = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._sleeper)

    def _answered(self, _: asyncio.Future[Any]) -> None:
        self._calls -= 1
        self._changed()

    def _changed(self) -> None:
        if self._sleeper is not None and not (self._open or self._calls):
            self._sleeper.set_result(None)
            self._sleeper = None


_WAITS: MutableMapping[asyncio.AbstractEventLoop, Waits] = weakref.WeakKeyDictionary()
"""The waits of each program of this process. With the Automation API a process may run several at once."""


def declared(name: str) -> Wait:
    """Return the wait for a resource that the program declares."""
    wait = Wait(name=name)
    with contextlib.suppress(RuntimeError):  # outside of an event loop nothing waits
        program_waits().all.append(wait)
    return wait


def program_waits() -> Waits:
    """Return the waits of the running program. From the first call on, its calls of other threads count.

    Pulumi asks the engine in other threads, by the event loop's `run_in_executor`.
    """
    loop = asyncio.get_running_loop()
    waits = _WAITS.get(loop)
    if waits is None:
        waits = _WAITS[loop] = Waits()
        _follow(loop, waits)
    return waits


def _follow(loop: asyncio.AbstractEventLoop, waits: Waits) -> None:
    run: Callable[..., asyncio.Future[Any]] = loop.run_in_executor

    def counted(*arguments: object) -> asyncio.Future[Any]:
        answer = run(*arguments)
        waits.called(answer)
        return answer

    # An event loop has no hook for this, and Pulumi does not say which of its calls wait for an answer.
    setattr(loop, "run_in_executor", counted)  # noqa: B010


def deploys() -> bool:
    """Return whether the program runs to make what it declares.

    A destroy or a refresh may run it, too (`--run-program`), but needs no job to run or to succeed. For a
    component that the plugin constructs, the plugin waits when it creates the children.
    """
    if is_constructed():
        return False
    command = engine_command.of_this_process(stack_settings().timeouts)
    return command is None or command.deploys


Result = TypeVar("Result")


class WaitFailed(Exception):  # noqa: N818
    """A wait has failed. The message is for people; `state` is a word such as FAILED."""

    def __init__(self, message: str, *, state: str, command: str = "") -> None:
        super().__init__(message)
        self.state = state
        self.command = command


@dataclass(frozen=True, kw_only=True)
class Again:
    """The options of a resource that decide when a failed job runs again."""

    rerun: str = "on_change"
    limit: int = 0

    def command(self, urn: str, state: str, *, stays: bool) -> str:
        """Return how a job that ended in a state runs again. `stays`: `pulumi up` has just left it alone."""
        if self.rerun == "never":
            return "It runs only once (rerun is never). To run it again, set rerun to on_change first."
        reruns = self.rerun == "on_failure" and self.limit > 0 and state in ("FAILED", "EXPIRED")
        if not stays and (reruns or self.rerun == "always"):
            return f"Run it again: pulumi up{_stack_option(urn)}"
        return f"Run it again as it is: {replace_command(urn)}"


def replace_command(urn: str) -> str:
    """Return the command that makes a resource again."""
    return f"pulumi up --replace {shlex.quote(urn)}{_stack_option(urn)}"


def _stack_option(urn: str) -> str:
    """Return the option for the stack of a resource, which need not be the selected one."""
    stack = urn.partition("::")[0].rpartition(":")[2]
    return f" --stack {shlex.quote(stack)}" if urn.startswith("urn:") else ""


async def held(work: Coroutine[Any, Any, Result], resource: pulumi.Resource | None, wait: Wait) -> Result:
    """Return the result of a wait.

    If it fails, report the failure on the row of its resource, let everything else come to an end, and raise
    `pulumi.RunError` with a summary of all waits. What depends on the result is never created.
    """
    waits = program_waits()
    try:
        with waits.open(wait):
            return await work
    except WaitFailed as failure:
        wait.end(WaitResult.FAILED, failure.state, failure.command)
        messages.error(str(failure), resource)
    await waits.rest()
    raise pulumi.RunError(visible_lines(messages.in_shell(summary(waits))))


def summary(waits: Waits) -> str:
    """Return what failed, what else ended, what still runs and what was not started, with commands."""
    if len(waits.all) == 1:
        return f"{waits.all[0].name} failed. The error is on its own row."
    width = max(len(wait.name) for wait in waits.all)
    counts, rows = [], []
    for result in (*WaitResult, None):
        group = [wait for wait in waits.all if wait.result is result]
        if group:
            counts.append(f"{len(group)} {result.value if result else 'not started'}")
        rows += [f"{one.name:<{width}}  {one.state or 'not started':<11}  {one.command}" for one in group]
    lines = "".join(f"\n    {row.rstrip()}" for row in rows)
    return f"{', '.join(counts)}{lines}\nThe error of each failed resource is on its own row."
