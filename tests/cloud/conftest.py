"""Endpoints that lead to a scripted server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.scripted_service import Service
from vertex_training.cli import emulator_reset
from vertex_training.cloud.endpoint import Endpoint
from vertex_training.emulator import launcher

TOKEN = "the-token"


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.close()


@pytest.fixture
def endpoint(service: Service) -> Endpoint:
    """An emulator's endpoint that leads to `service`."""
    return Endpoint(kind="emulator", project="local", location="us-central1", url=service.url, token=TOKEN)


@pytest.fixture
def google(service: Service) -> Endpoint:
    """A Google endpoint whose Vertex AI and Cloud Storage are `service`."""
    return Endpoint(
        kind="google",
        project="my-project",
        location="europe-west4",
        url=service.url,
        storage_url=service.url,
        token=TOKEN,
    )


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A real emulator, in a process of its own."""
    data_dir = tmp_path_factory.mktemp("emulator")
    running = launcher.ensure(data_dir)
    yield Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=running.url,
        token=running.token,
        storage_url=running.storage_url,
    )
    emulator_reset.reset(data_dir)
