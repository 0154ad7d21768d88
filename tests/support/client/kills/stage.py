"""Hold an operation of the real engine at a call of the service, kill a process there, and count the jobs.

A `Stage` is one stack with its emulator, whose faults hold the call.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from support.client.engine import Engine, Result
from support.client.kills.subjects import (
    COLLECTIONS,
    CUSTOM_JOB,
    Declaration,
    Subject,
    has_ended,
    listed,
    local,
    shown,
    state_of,
)
from support.emulated.emulator import is_alive, kill
from support.waiting import eventually
from vertex_emulator.client import launcher
from vertex_emulator.client.control import Control, ControlError
from vertex_emulator.daemon import reset

UP = ("up", "--yes", "--skip-preview", "--non-interactive")
DESTROY = ("destroy", "--yes", "--skip-preview", "--non-interactive")
REFRESH = ("refresh", "--yes", "--skip-preview", "--non-interactive")
_LONG = 600.0


class Victim(enum.Enum):
    """The process that is killed. Killing `pulumi` leaves its children alive, and the other way round."""

    PULUMI = "pulumi"
    PROVIDER = "provider"
    BOTH = "pulumi and provider"
    EMULATOR = "emulator"


class Moment(enum.Enum):
    """The point of a call, or of the engine's work on one resource, at which it is held."""

    ASKED = "asked"
    """The service has the request, and carries it out after the release."""
    LOST = "lost"
    """The request never arrives."""
    CARRIED_OUT = "carried out"
    """The service has carried it out, and nobody has the answer."""
    ANSWERED = "answered"
    """The provider has the answer, the engine has not recorded it."""


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A step at which an operation is held.

    `what` is a method of the service; its `nth` call since the begin of the operation is held, or so many
    `calls` from there on. `also` are other methods of the service, held at the same time.
    """

    what: str
    moment: Moment
    nth: int = 1
    calls: int = 1
    also: tuple[Hold, ...] = ()

    def fault(self) -> dict[str, Any]:
        """Return the emulator's fault that holds the calls."""
        fault: dict[str, Any] = {"method": self.what, "nth": self.nth, "times": self.calls}
        if self.moment in (Moment.ASKED, Moment.LOST):
            fault["stall"] = _LONG
            if self.moment is Moment.LOST:
                fault["drop"] = "before"
        else:
            fault["delay"] = _LONG
        return fault


def at(what: str, moment: Moment = Moment.ASKED, nth: int = 1) -> Hold:
    return Hold(what=what, moment=moment, nth=nth)


@dataclass
class Stage:
    """A stack with one resource, by default a job, and its state so far."""

    engine: Engine
    data_dir: Path | None = None
    """The emulator's data directory; None is the engine's own."""
    subject: Subject = CUSTOM_JOB
    declaration: Declaration = field(default_factory=Declaration)
    declared: int = 0
    output: str = ""
    _before: int = 0
    _lost: set[int] = field(default_factory=set)
    _left: list[psutil.Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.data_dir is None:
            self.data_dir = self.engine.data_dir
        self.engine.environment["VERTEX_TRAINING_DATA_DIR"] = str(self.data_dir)

    def declare(self, spec: str | None = None, *, options: str = "") -> None:
        """Declare a resource that runs for long. The default spec differs from the one before."""
        self.declared += 1
        command = ("sh", "-c", "sleep 600", "trial")  # $0; a tuning job appends the parameters of a trial
        self.declaration = Declaration(spec=spec or f"spec-{self.declared}", command=command, options=options)
        self.engine.write(self.subject.program(self.declaration))

    @property
    def control(self) -> Control:
        """The control API of the emulator, which is started if it is not running."""
        emulator = launcher.ensure(self.data_dir)
        return Control(url=emulator.url, token=emulator.token)

    def listed(self, collection: str) -> list[dict[str, Any]]:
        """Return all records of a collection of the service."""
        return listed(self.control, collection)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all records of the service."""
        return self.listed(self.subject.collection)

    def states(self) -> list[str]:
        return [state_of(job) for job in self.jobs()]

    def live(self) -> list[str]:
        return [job["name"] for job in self.jobs() if not has_ended(job)]

    def checkpoint(self) -> dict[str, Any]:
        """Return the deployment as the backend has it, possibly in the middle of an operation."""
        found: dict[str, Any] = {}

        def is_read() -> bool:
            try:
                found.update(self.engine.checkpoint())
            except (FileNotFoundError, ValueError):  # it is being written
                return False
            return True

        eventually(is_read)
        return found

    def recorded(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the resources of a type in the state; the default type is the subject's."""
        kind = self.subject.type if kind is None else kind
        return [one for one in self.checkpoint().get("resources", []) if one["type"].endswith(f":{kind}")]

    def recorded_jobs(self) -> list[str]:
        return [one["id"] for one in self.recorded()]

    def forget(self) -> None:
        """Forget the submissions so far."""
        self.control.forget_requests()
        self._before = 0

    def submissions(self) -> int:
        """Return how many jobs were submitted since `forget`, whether anybody received the answer or not."""
        made = [
            one
            for one in self.control.requests()["requests"]
            if one["call"] == self.subject.creates
            and one["status"] in (200, 499)
            and one["fault"] not in self._lost
        ]
        return self._before + len(made)

    def run(self, *command: str) -> Result:
        """Run one complete operation."""
        result = self.engine.run(*command)
        self.output = result.output
        return result

    def clear(self) -> None:
        """Begin with an empty stack, a new emulator and a job, without a command."""
        self.subject = CUSTOM_JOB
        if self.checkpoint():
            with self.engine.edited_deployment() as deployment:
                deployment.pop("resources", None)
                deployment.pop("pending_operations", None)
        self.settle()
        assert self.data_dir is not None
        reset.reset(self.data_dir)
        self._lost.clear()
        self.forget()

    def up(self, *more: str) -> Result:
        return self.run(*UP, *more).ok()

    def destroy(self) -> None:
        """Destroy the stack, and assert that nothing is left."""
        self.run(*DESTROY).ok()
        self.assert_nothing()

    def assert_nothing(self) -> None:
        """Assert that the service has no job, and the state no record of one."""
        assert (self.jobs(), self.recorded()) == ([], [])

    def assert_nothing_is_left(self) -> None:
        """Assert that the service has no resource and no live operation, and that the state is empty."""
        self.assert_nothing()
        left = {collection: [one["name"] for one in self.listed(collection)] for collection in COLLECTIONS}
        assert left == {collection: [] for collection in COLLECTIONS}, self.output
        assert self.undone() == []

    def undone(self) -> list[str]:
        """Return the operations in the emulator's store that are not done."""
        assert self.data_dir is not None
        with contextlib.closing(sqlite3.connect(self.data_dir / "state.sqlite3", timeout=30)) as database:
            rows = database.execute("SELECT name, operation FROM operations").fetchall()
        return [name for name, text in rows if not json.loads(text).get("done")]

    def assert_one(self) -> None:
        """Assert that the service has one job, which is live and in the state, and no other record."""
        assert [job["name"] for job in self.jobs()] == self.recorded_jobs() == self.live(), self.output

    def assert_one_live(self) -> None:
        """Assert that the service has one live job, which is in the state; ended ones may be kept."""
        assert self.recorded_jobs() == self.live(), self.output
        assert len(self.live()) == 1, self.output

    def assert_declared(self) -> None:
        """Assert that the service has what is declared, once, and the state exactly that."""
        ((name, spec, note),) = [(local(one["name"]), *shown(one)) for one in self.jobs()]
        ((recorded),) = [local(one["id"]) for one in self.recorded()]
        assert (name, spec) == (recorded, self.declaration.spec), self.output
        assert note in ("", self.declaration.note), self.output

    def interrupt(self, command: tuple[str, ...], hold: Hold, victim: Victim) -> None:
        """Begin the operation, hold it, kill the victim, release it, and wait until it has ended.

        Processes that outlive `pulumi` keep running until `settle`.
        """
        with self.held(command, hold) as (process, release):
            family = psutil.Process(process.pid).children(recursive=True)
            forks = self._forks(family)
            if victim is Victim.EMULATOR:
                self._before = self.submissions() + (
                    hold.what == self.subject.method("Create") and hold.moment is Moment.CARRIED_OUT
                )
                self._lost.clear()  # the next emulator numbers its faults from 1
                kill(launcher.ensure(self.data_dir).pid)
            if victim in (Victim.PULUMI, Victim.BOTH):
                process.kill()
                process.wait()
            if victim in (Victim.PROVIDER, Victim.BOTH):
                (provider,) = [one for one in family if _is_provider(one)]
                kill(provider.pid)
                for fork in forks:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        kill(fork.pid)
            if victim is not Victim.EMULATOR:
                release()
            if victim in (Victim.PULUMI, Victim.BOTH):
                assert process.stdout is not None
                process.stdout.close()  # surviving processes keep the other end open
            else:
                self.output, _ = process.communicate(timeout=120)
            self._left = [one for one in (*family, *forks) if is_alive(one)]
        if victim in (Victim.PULUMI, Victim.BOTH):
            self.engine.unlock()

    def _forks(self, family: list[psutil.Process]) -> list[psutil.Process]:
        """Return the providers that the warm interpreter runs for the operation; they are not in its family.

        It kills them when their command is dead, but a moment later: they could answer or call by then.
        """
        found = []
        for one in psutil.Process().children(recursive=True):
            if one in (*family, *self._left) or not _is_provider(one):
                continue
            with contextlib.suppress(psutil.NoSuchProcess):
                if Path(one.cwd()).is_relative_to(self.engine.folder.resolve()):
                    found.append(one)
        return found

    def until_left(self) -> None:
        """Wait until the provider that a killed operation left behind has ended by itself."""
        providers = [one for one in self._left if _is_provider(one)]
        assert providers
        self.until(lambda: not any(is_alive(one) for one in providers), "the provider's end")

    def settle(self) -> None:
        """End all processes that a killed operation left behind."""
        for one in self._left:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        self._left = []

    def until(self, condition: Callable[[], object], what: str) -> None:
        eventually(condition, what=lambda: what)

    @contextlib.contextmanager
    def held(
        self, command: tuple[str, ...], hold: Hold
    ) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
        """Yield the operation at the hold, and its release; afterwards kill it if it is still running."""
        with self._held_call(hold, command) as held:
            try:
                yield held
            finally:
                if held[0].poll() is None:
                    os.killpg(held[0].pid, signal.SIGKILL)
                    held[0].wait()

    @contextlib.contextmanager
    def _held_call(
        self, hold: Hold, command: tuple[str, ...]
    ) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
        control = self.control
        calls = {control.add_fault(each.fault())["number"]: each.calls for each in (hold, *hold.also)}
        if hold.moment is Moment.LOST:
            self._lost |= calls.keys()

        def is_held() -> bool:
            held = {one["number"]: one["held"] for one in control.faults()}
            return all(held[number] == count for number, count in calls.items())

        def is_answered() -> bool:
            answered = Counter(one["fault"] for one in control.requests()["requests"])
            return all(answered[number] == count for number, count in calls.items())

        def release() -> None:
            control.clear_faults()
            self.until(is_answered, f"{hold} let go")

        process = self.engine.start(*command)
        self._await(process, is_held, hold)
        try:
            if hold.moment is Moment.ANSWERED:
                process.send_signal(signal.SIGSTOP)
                release()
                time.sleep(0.3)  # for the provider's answer
            yield process, release
        finally:
            with contextlib.suppress(ControlError):  # it may be the victim
                control.clear_faults()

    def _await(self, process: subprocess.Popen[str], condition: Callable[[], object], hold: Hold) -> None:
        """Wait until the operation is at the hold; fail with its output if it ends before."""
        try:
            eventually(lambda: condition() or process.poll() is not None)
            assert condition(), "it ended"
        except AssertionError:
            process.kill()
            raise AssertionError(f"the operation did not reach {hold}:\n{process.communicate()[0]}") from None


def _is_provider(process: psutil.Process) -> bool:
    try:
        return "pulumi.dynamic" in " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return False
