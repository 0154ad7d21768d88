"""The URN by which a program names the row of a resource."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pulumi
import pytest
from pulumi.runtime import settings

from pulumi_vertex_training.program.preview.prerequisites import urn_of
from pulumi_vertex_training.registry import type_token


@pytest.fixture(autouse=True)
def stack() -> Iterator[None]:
    before = settings.SETTINGS
    settings.configure(settings.Settings(project="program", stack="dev"))
    yield
    settings.configure(before)


def test_the_urn_of_a_resource_without_parent_is_the_engine_s() -> None:
    async def urns() -> tuple[object, object]:
        token = type_token("CustomJob")
        return await urn_of("train", token, None), await pulumi.resource.create_urn("train", token).future()

    ours, pulumis = asyncio.run(urns())
    assert ours == pulumis == "urn:pulumi:dev::program::pulumi-python:dynamic/customJob:CustomJob::train"
