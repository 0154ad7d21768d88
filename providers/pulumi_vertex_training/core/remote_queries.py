"""Remote queries of a plan, which may not hold it up.

The engine calls diff on one thread, for every resource. A query starts nothing, and a service that does not
answer in time gives no answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.core.connection import connect_if_running
from pulumi_vertex_training.core.engine import say
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator.launcher import LauncherError

T = TypeVar("T")


class RemoteQueries:
    """Remote queries of one operation at a time. Safe for threads. `timeouts` are those of the operation."""

    def __init__(self, *, timeouts: Callable[[], Timeouts] = lambda: OPERATION.settings.timeouts) -> None:
        self._timeouts = timeouts

    def ask(
        self, target: Target, query: Callable[[], T], *, unknown: str = ""
    ) -> T | Literal[LookupResult.ABSENT] | None:
        """Return the answer to a query.

        Return `LookupResult.ABSENT` for a certain "not found". Return None if there is no answer, after a
        warning that `unknown` is not known. A target that gave no answer is not asked again: the next query
        would hold up the plan as long.
        """
        if OPERATION.is_unanswered(self, target):
            return None
        answers: list[T | Literal[LookupResult.ABSENT]] = []
        troubles: list[BaseException] = []

        def look() -> None:
            try:
                answers.append(query())
            except NotFound:
                answers.append(LookupResult.ABSENT)
            except BaseException as error:  # raised again in the caller's thread
                troubles.append(error)

        thread = threading.Thread(target=look, name="remote-query", daemon=True)
        thread.start()
        seconds = self._timeouts().remote_query
        thread.join(seconds)
        if answers:
            return answers[0]
        if troubles and not isinstance(troubles[0], (CloudError, LauncherError)):
            raise troubles[0]
        OPERATION.note_unanswered(self, target)
        trouble = troubles[0] if troubles else f"no answer within {seconds:g} s"
        unknown = unknown or f"the state of the jobs of {target.project}, {target.location}"
        say(f"warning: {unknown} is not known: {trouble}")
        return None

    def ask_endpoint(
        self, target: Target | None, query: Callable[[Endpoint], T], *, unknown: str = ""
    ) -> T | None:
        """Query the endpoint of a target, as `ask` does.

        Return None also if the service has no such resource, and if the emulator would have to be started.
        """
        if target is None:
            return None

        def query_endpoint() -> T | None:
            endpoint = connect_if_running(*target, OPERATION.settings)
            return None if endpoint is None else query(endpoint)

        answer = self.ask(target, query_endpoint, unknown=unknown)
        return None if answer is LookupResult.ABSENT else answer


QUERIES = RemoteQueries()
