"""Queries of a plan to a service, which may not hold it up.

The engine calls diff on one thread, for every resource. Nothing is ever started to find out, and what does
not answer in time is not known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, NotFound
from pulumi_vertex_training.plugin.connection import connect_if_running
from pulumi_vertex_training.plugin.process import PLUGIN, say
from pulumi_vertex_training.runs.standing import Look
from vertex_emulator.launcher import LauncherError

DEADLINE_SECONDS = 15.0
"""How long all questions about one place may hold up a plan."""

T = TypeVar("T")
Place = tuple[Any, str, str]


class RemoteQueries:
    """Remote queries of one operation at a time. Safe for threads.

    `deadline` is the seconds that one query may take.
    """

    def __init__(self, *, deadline: float = DEADLINE_SECONDS) -> None:
        self._deadline = deadline

    @property
    def _silent(self) -> set[Place]:
        """The places that gave this operation no answer."""
        return PLUGIN.kept(f"silent places {id(self)}", set)

    def ask(self, place: Place, question: Callable[[], T], *, unknown: str = "") -> T | Any:
        """The answer to a question that may not hold up a plan: `Look.ABSENT` for a certain "not found"; None
        without one, after a line that says that `unknown` is not known.

        A place that gave no answer once is not asked again: the next question would hold up the plan as long.
        """
        if place in self._silent:
            return None
        answers: list[Any] = []
        troubles: list[BaseException] = []

        def look() -> None:
            try:
                answers.append(question())
            except NotFound:
                answers.append(Look.ABSENT)
            except BaseException as error:  # what ends a thread is the caller's to hear of
                troubles.append(error)

        thread = threading.Thread(target=look, name="sightings", daemon=True)
        thread.start()
        thread.join(self._deadline)
        if answers:
            return answers[0]
        if troubles and not isinstance(troubles[0], (CloudError, LauncherError)):
            raise troubles[0]
        self._silent.add(place)
        trouble = troubles[0] if troubles else f"no answer within {self._deadline:g} s"
        unknown = unknown or f"how the jobs of {place[1]}, {place[2]} stand"
        say(f"warning: {unknown} is not known: {trouble}")
        return None

    def ask_endpoint(
        self, place: Place | None, question: Callable[[Endpoint], T], *, unknown: str = ""
    ) -> T | Any:
        """As `ask`, of the endpoint of a place. None also for what is not there, and where there is no
        endpoint without starting one."""
        if place is None:
            return None

        def asked() -> T | None:
            endpoint = connect_if_running(*place, PLUGIN.settings)
            return None if endpoint is None else question(endpoint)

        answer = self.ask(place, asked, unknown=unknown)
        return None if answer is Look.ABSENT else answer


QUERIES = RemoteQueries()


def place_of(props: Mapping[str, Any]) -> Place | None:
    """Where a resource lives, by its inputs or outputs; None while that is not known."""
    place = (props.get("endpoint"), props.get("project"), props.get("location"))
    return place if all(isinstance(part, str) for part in place) else None  # type: ignore[return-value]
