"""The services that a project has enabled, by the API of Service Usage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.translation import translated

HOST = "serviceusage.googleapis.com"
MOST = 30
"""The most services of one call."""


def enabled(endpoint: Endpoint, names: Iterable[str]) -> Mapping[str, bool]:
    """Return whether each of at most `MOST` services is enabled; one that the answer lacks is left out."""
    parent = f"projects/{endpoint.project}"
    wanted = list(names)
    with translated(endpoint, f"read the services of project {endpoint.project}"):
        answer = rest.call(
            endpoint,
            "GET",
            f"{endpoint.service_url(HOST)}/v1/{parent}/services:batchGet",
            query={"names": [f"{parent}/services/{name}" for name in wanted]},
        )
    states = {
        str(one.get("name", "")).rpartition("/")[2]: one.get("state") for one in answer.get("services", [])
    }
    return {name: states[name] == "ENABLED" for name in wanted if name in states}
