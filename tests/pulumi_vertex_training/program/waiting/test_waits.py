"""When a failure may end a program: other waits, also later ones, and calls of the engine come first."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine
from typing import Any

import pulumi
import pytest

from pulumi_vertex_training.program.waiting import interruption
from pulumi_vertex_training.program.waiting.waits import (
    Again,
    Wait,
    WaitFailed,
    WaitResult,
    declared,
    held,
    program_waits,
)
from support.waiting import TIMEOUT

ON_FAILURE = Again(rerun="on_failure", limit=1)
URN = "urn:pulumi:test::it::my:Component$pulumi-python:dynamic/customJob:CustomJob::train"


def wait(name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(held(work, None, Wait(name=name)))


async def fails() -> None:
    raise WaitFailed("it failed", state="FAILED", command="logs")


async def some_turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def test_a_failure_is_held_until_all_waits_have_ended_also_those_begun_meanwhile() -> None:
    async def body() -> None:
        first_ends, second_ends = asyncio.Event(), asyncio.Event()
        failing, first = wait("failing", fails()), wait("first", first_ends.wait())
        await some_turns()
        assert not failing.done()
        first_ends.set()
        await first
        await some_turns()  # as an output takes until a dependent job is registered
        second = wait("second", second_ends.wait())
        await some_turns()
        assert not failing.done()
        second_ends.set()
        with pytest.raises(pulumi.RunError, match="1 failed, 2 not started"):
            await failing
        await second

    asyncio.run(body())


def test_a_failure_is_held_while_the_engine_is_asked_for_something() -> None:
    async def body() -> None:
        answers = threading.Event()
        program_waits()
        call = asyncio.get_running_loop().run_in_executor(None, answers.wait, TIMEOUT)
        failing = wait("failing", fails())
        for _ in range(3000):  # more turns than a program at rest needs
            await asyncio.sleep(0)
        assert not failing.done()
        answers.set()
        with pytest.raises(pulumi.RunError, match="failing failed"):
            await failing
        assert await call

    asyncio.run(body())


def test_several_failures_do_not_wait_for_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    async def body() -> list[Any]:
        return await asyncio.gather(*(wait(name, fails()) for name in "abc"), return_exceptions=True)

    found = asyncio.run(body())
    assert [type(each) for each in found] == [pulumi.RunError] * 3
    assert str(found[0]).splitlines()[0] == "3 failed"
    assert capsys.readouterr().err == "error: it failed\n" * 3


def test_a_job_that_never_begins_holds_nothing_and_is_in_the_summary() -> None:
    async def body() -> None:
        declared("never")
        failing = wait("failing", fails())
        with pytest.raises(pulumi.RunError) as caught:
            await failing
        assert str(caught.value).splitlines()[:-1] == [
            "1 failed, 1 not started",
            "    failing  FAILED       logs",
            "    never    not started",
        ]

    asyncio.run(body())


def test_ctrl_c_ends_a_held_failure_at_once() -> None:
    async def body() -> None:
        interruption.listen()
        endless = wait("endless", asyncio.Event().wait())
        failing = wait("failing", fails())
        await some_turns()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(pulumi.RunError):
            await failing
        assert not endless.done()
        endless.cancel()

    asyncio.run(body())


def test_two_programs_in_one_process_have_waits_of_their_own() -> None:
    both_fail, ended = threading.Barrier(2), {}

    async def body(name: str) -> None:
        other = wait(f"{name}-other", asyncio.sleep(0))
        await other
        await asyncio.to_thread(both_fail.wait, TIMEOUT)
        with pytest.raises(pulumi.RunError):
            await wait(f"{name}-failing", fails())
        ended[name] = [each.name for each in program_waits().all]

    programs = [threading.Thread(target=asyncio.run, args=(body(name),)) for name in ("one", "two")]
    for each in programs:
        each.start()
    for each in programs:
        each.join()
    assert ended == {name: [f"{name}-other", f"{name}-failing"] for name in ("one", "two")}


def test_outside_of_an_event_loop_a_declaration_is_no_error() -> None:
    assert declared("alone").result is None


def test_an_earlier_failure_is_no_failure_of_the_program() -> None:
    async def body() -> None:
        earlier = Wait(name="earlier")

        async def work() -> None:
            earlier.end(WaitResult.EARLIER, "CANCELLED", "logs 2")

        await held(work(), None, earlier)
        with pytest.raises(pulumi.RunError, match="1 failed, 1 ended earlier"):
            await wait("failing", fails())

    asyncio.run(body())


@pytest.mark.parametrize(
    ("again", "state", "stays", "words"),
    [
        pytest.param(Again(), "FAILED", False, f"pulumi up --replace '{URN}' --stack test", id="on_change"),
        pytest.param(ON_FAILURE, "FAILED", False, "again: pulumi up --stack test", id="on_failure"),
        pytest.param(
            Again(rerun="on_failure", limit=1),
            "FAILED",
            True,
            f"--replace '{URN}' --stack test",
            id="its limit is reached",
        ),
        pytest.param(ON_FAILURE, "CANCELLED", False, f"--replace '{URN}' --stack test", id="cancelled"),
        pytest.param(Again(rerun="always"), "CANCELLED", False, "again: pulumi up --stack test", id="always"),
        pytest.param(Again(rerun="never"), "FAILED", False, "set rerun to on_change first.", id="never"),
    ],
)
def test_how_a_failed_job_runs_again(again: Again, state: str, stays: bool, words: str) -> None:
    assert again.command(URN, state, stays=stays).endswith(words)
