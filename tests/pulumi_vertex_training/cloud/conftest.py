"""Endpoints that lead to a scripted server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.client.clients.recorded_requests import Recorder
from support.scripted_service import Service
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

TOKEN = "the-token"


@pytest.fixture
def endpoint(service: Service) -> Endpoint:
    """Return an emulator endpoint that leads to `service`."""
    return Endpoint(kind="emulator", project="local", location="us-central1", url=service.url, token=TOKEN)


@pytest.fixture
def google(service: Service) -> Endpoint:
    """Return a Google endpoint whose Vertex AI and Cloud Storage are `service`."""
    return Endpoint(
        kind="google",
        project="my-project",
        location="europe-west4",
        url=service.url,
        storage_url=service.url,
        token=TOKEN,
    )


@pytest.fixture
def sdk(recorder: Recorder) -> Iterator[Any]:
    """Return the SDK, with all its requests sent to the recorder. Loading it takes seconds."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform import initializer

    before = dict(vars(initializer.global_config))
    aiplatform.init(
        project="my-project",
        location="us-central1",
        staging_bucket="gs://b",
        credentials=AnonymousCredentials(),
        api_endpoint=recorder.url,
        api_transport="rest",
    )
    yield aiplatform
    vars(initializer.global_config).clear()
    vars(initializer.global_config).update(before)


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Yield a real emulator in a separate process.

    Other files may run for a long time between two that use it: it does not stop as idle meanwhile.
    """
    data_dir = tmp_path_factory.mktemp("emulator")
    running = launcher.ensure(data_dir, idle_minutes=240)
    yield Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=running.url,
        token=running.token,
        storage_url=running.storage_url,
    )
    emulator_reset.reset(data_dir)
