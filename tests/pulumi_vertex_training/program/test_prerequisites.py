"""The inputs by which a program informs the record of a job's run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pulumi
import pytest
from pulumi.runtime import settings

from pulumi_vertex_training.program.preview.prerequisites import run_input
from pulumi_vertex_training.registry import type_token


@pytest.fixture(autouse=True)
def stack() -> Iterator[None]:
    before = settings.SETTINGS
    settings.configure(settings.Settings(project="program", stack="dev"))
    yield
    settings.configure(before)


def test_the_urn_of_a_job_without_parent_is_the_engine_s() -> None:
    async def urns() -> tuple[object, object]:
        found = await run_input({}, "train", type_token("CustomJob"), None).future()
        assert found is not None
        return found["urn"], await pulumi.resource.create_urn("train", type_token("CustomJob")).future()

    ours, pulumis = asyncio.run(urns())
    assert ours == pulumis == "urn:pulumi:dev::program::pulumi-python:dynamic/customJob:CustomJob::train"
