"""A preview looks at each pending output about once, and fails when Pulumi's SDK waits otherwise."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi.runtime import mocks
from pulumi.runtime.settings import SETTINGS
from pulumi.runtime.stack import run_pulumi_func

from pulumi_vertex_training.program import registrations

RESOURCES = 60


class Engine(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[Any, Any]]:
        return args.name, args.inputs

    def call(self, args: mocks.MockCallArgs) -> Any:
        raise AssertionError(args.token)


def program() -> None:
    registrations.await_first()
    for number in range(RESOURCES):
        pulumi.CustomResource("it:index:Job", f"job-{number}", {"one": 1, "two": 2})


async def looks(monkeypatch: pytest.MonkeyPatch, *, preview: bool) -> int:
    """Run the program with an engine that answers one call after the other.

    Return how many outputs the SDK has looked at while it waited for them.
    """
    looked, calls, wait = 0, list[tuple[asyncio.Future[Any], Callable[[], Any]]](), asyncio.wait

    async def counted(outputs: Any, **options: Any) -> Any:
        nonlocal looked
        looked += len(outputs)
        return await wait(outputs, **options)

    def called(_: object, call: Callable[[], Any]) -> asyncio.Future[Any]:
        calls.append((asyncio.get_running_loop().create_future(), call))
        return calls[-1][0]

    async def answer() -> None:
        while True:
            for _ in range(20):  # An output becomes known some turns after the answer.
                await asyncio.sleep(0)
            if calls:
                future, call = calls.pop(0)
                future.set_result(call())

    monkeypatch.setattr(asyncio, "wait", counted)
    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", called, raising=False)
    mocks.set_mocks(Engine(), preview=preview)
    SETTINGS.rpc_manager.clear()
    SETTINGS.outputs.clear()
    engine = asyncio.ensure_future(answer())
    await run_pulumi_func(program)
    engine.cancel()
    return looked


@pytest.mark.parametrize("preview", [True, False])
def test_a_preview_waits_for_its_registrations_before_it_waits_for_outputs(
    monkeypatch: pytest.MonkeyPatch, preview: bool
) -> None:
    looked = contextvars.copy_context().run(lambda: asyncio.run(looks(monkeypatch, preview=preview)))
    if preview:
        assert looked < 10 * RESOURCES
    else:
        # Once the SDK does better, `program.registrations` has no use any more.
        assert looked > RESOURCES**2
