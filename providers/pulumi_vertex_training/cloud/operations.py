"""Long-running operations of Vertex AI: a call's answer that says whether it is done yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, DeadlineExceeded
from pulumi_vertex_training.cloud.translation import translated

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


def wait(
    endpoint: Endpoint,
    operation: rest.Json,
    *,
    action: str,
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> rest.Json:
    """Ask until the operation, in its JSON form, is done; its last form.

    `action` completes "Could not ..." in messages. Raises DeadlineExceeded after `timeout` seconds, and
    CloudError in the service's words when the operation ended with an error. Google's generated clients ask
    for operations under /ui/, here it is the documented /v1/.
    """
    deadline, pause = clock() + timeout, _FIRST_PAUSE
    while not operation.get("done"):
        name = operation.get("name", "")
        if clock() >= deadline:
            raise DeadlineExceeded(
                f"Could not {action} ({endpoint}): the operation {name} has not ended after {timeout:g} s. "
                "Run the same command again.",
                resource=action.partition(" ")[2],
                endpoint=endpoint,
            )
        sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
        with translated(endpoint, action):
            operation = rest.call(endpoint, "GET", f"{endpoint.vertex_url}/v1/{name}")
    error = operation.get("error")
    if error:
        raise CloudError(
            f"Could not {action} ({endpoint}): {error.get('message') or error}",
            resource=action.partition(" ")[2],
            endpoint=endpoint,
        )
    return operation
