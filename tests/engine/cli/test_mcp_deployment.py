"""The tool `deploy` of `vertex-training mcp` on the real engine: a plan of this session is deployed, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from support.client.engine import Engine
from support.warm import warm_python

pytestmark = pytest.mark.slow

PROGRAM = 'vt.StagingBucket("data", force_destroy=True)\n'


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The answers of the tools, in the order of the calls."""

    previewed: Any
    unknown: Any
    planned: Any
    deployed: Any
    again: Any


@pytest.fixture(scope="module")
def steps(shared_engine: Engine) -> Steps:
    engine = shared_engine
    engine.write(PROGRAM)

    async def session() -> Steps:
        server = StdioServerParameters(
            command=str(warm_python.shared()),
            args=["-m", "pulumi_vertex_training.cli", "mcp", "--allow-deploy", "--cwd", str(engine.folder)],
            env=engine.environment,
        )
        async with Client(stdio_client(server)) as client:
            return Steps(
                previewed=await client.call_tool("preview", {"stack": "test"}),
                unknown=await client.call_tool("deploy", {"plan": "plan-1"}),
                planned=await client.call_tool("plan"),
                deployed=await client.call_tool("deploy", {"plan": "plan-1"}),
                again=await client.call_tool("deploy", {"plan": "plan-1"}),
            )

    return anyio.run(session)


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


def test_the_preview_is_that_of_the_engine(steps: Steps) -> None:
    assert not steps.previewed.is_error, text_of(steps.previewed)
    assert "StagingBucket" in text_of(steps.previewed)
    assert "versioning" in text_of(steps.previewed)


def test_only_a_plan_of_the_session_is_deployed(steps: Steps) -> None:
    assert steps.unknown.is_error
    assert "There is no plan 'plan-1'. Call the tool plan first." in text_of(steps.unknown)


def test_a_plan_is_deployed_as_it_was_shown(steps: Steps) -> None:
    assert not steps.planned.is_error, text_of(steps.planned)
    assert "+ create" in text_of(steps.planned)
    assert "call the tool deploy with plan=plan-1" in text_of(steps.planned)
    assert not steps.deployed.is_error, text_of(steps.deployed)
    assert "created" in text_of(steps.deployed)


def test_a_plan_that_was_deployed_no_longer_applies(steps: Steps) -> None:
    assert steps.again.is_error
    assert "no longer applies, and nothing was changed" in text_of(steps.again)
