"""Remote queries of a plan, which may not hold it up.

The engine calls diff on one thread, for every resource. A query starts nothing, and a service that does not
answer in time gives no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Literal, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.core.connection import connect_if_running
from pulumi_vertex_training.core.engine import print_line
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.settings import Target
from pulumi_vertex_training.runs.lookups import in_thread
from pulumi_vertex_training.runs.policies.run_status import LookupResult
from pulumi_vertex_training.timeouts import Timeouts
from vertex_emulator import LauncherError

T = TypeVar("T")


class _Unanswered(set[tuple[object, Target]]):
    """Targets that gave no answer, with the object that asked."""


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
        if (self, target) in OPERATION.part(_Unanswered):
            return None
        seconds = self._timeouts().remote_query
        trouble = f"no answer within {seconds:g} s"
        answer = in_thread(query)
        try:
            return answer.result(seconds)
        except NotFound:
            return LookupResult.ABSENT
        except (CloudError, LauncherError) as error:
            trouble = str(error)
        except FutureTimeoutError:
            if answer.done():
                raise
        OPERATION.part(_Unanswered).add((self, target))
        unknown = unknown or f"the state of the jobs of {target.project}, {target.location}"
        print_line(f"warning: {unknown} is not known: {trouble}")
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
