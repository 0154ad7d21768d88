"""The calls of one case to one endpoint: sent once, journaled, counted, recorded.

Cases speak REST and JSON, so that the recorded answers are those of the service and not of a client library.
"""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pulumi_vertex_training.cloud import clients, retry
from pulumi_vertex_training.cloud.endpoint import Endpoint
from scripts.verify_google.budget import Budget
from scripts.verify_google.comparison import Answer
from scripts.verify_google.journal import LABEL, Journal
from scripts.verify_google.prices import highest_cost, hourly_cost
from scripts.verify_google.sanitising import Sanitiser

Json = dict[str, Any]

CALL_SECONDS = 60.0
_READ_TRIES = 6
_REFUSED = frozenset({400, 401, 403, 404, 405, 409, 412, 429, 501})
"""Statuses after which nothing was created."""

JOB_ENDED = frozenset(
    f"JOB_STATE_{word}" for word in ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
)
PIPELINE_ENDED = frozenset(f"PIPELINE_STATE_{word}" for word in ("SUCCEEDED", "FAILED", "CANCELLED"))
SERVICE_JOBS = "jobs of the service"
"""The kind, in the journal, of jobs that the service made for other jobs; they have no label of ours."""

ENDED = JOB_ENDED | PIPELINE_ENDED


class CaseError(Exception):
    """A case could not be run to its end; the text has the reason."""


class CredentialsError(CaseError):
    """The credentials of the account are no longer accepted."""


class StoppedError(Exception):
    """The run was interrupted."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names of what one case creates. All begin with the run's id."""

    run: str
    case: str
    location: str

    @property
    def bucket(self) -> str:
        return f"{self.run}-{self.case}"

    @property
    def labels(self) -> Json:
        return {LABEL: self.run}

    @property
    def display_name(self) -> str:
        return f"{self.run}-{self.case}"


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds between two reads of a job, and the longest time to wait for one."""

    poll_seconds: float = 10.0
    limit_seconds: float = 45 * 60.0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer as it came: the status and the JSON document, or {} without one."""

    status: int
    body: Json

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(kw_only=True)
class Recorder:
    """Calls an endpoint for one case. Calls with a `step` are recorded."""

    endpoint: Endpoint
    names: Names
    journal: Journal
    budget: Budget
    sanitiser: Sanitiser
    pace: Pace = field(default_factory=Pace)
    stopped: threading.Event = field(default_factory=threading.Event)
    answers: list[Answer] = field(default_factory=list)
    used: dict[str, float] = field(default_factory=dict)
    """Dollars of each job: its highest cost, and after its end those of the time since its creation."""
    _hourly: dict[str, float] = field(default_factory=dict)

    def vertex(self, path: str, *, version: str = "v1") -> str:
        """Return the address of a collection or of a resource by its full name."""
        parent = "" if path.startswith("projects/") else f"{self.endpoint.parent}/"
        return f"{self.endpoint.vertex_url}/{version}/{parent}{path}"

    def storage(self, path: str = "", *, upload: bool = False) -> str:
        """Return an address below `/storage/v1/b`."""
        return f"{self.endpoint.storage_api_url}{'/upload' if upload else ''}/storage/v1/b{path}"

    def artifacts(self, path: str) -> str:
        """Return an address of Artifact Registry below the location."""
        parent = "" if path.startswith("projects/") else f"{self.endpoint.parent}/"
        return f"{self.endpoint.artifact_registry_url}/v1/{parent}{path}"

    def call(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        *,
        step: str | None = None,
        query: Mapping[str, str] | None = None,
        content: bytes | None = None,
        content_type: str | None = None,
    ) -> Reply:
        """Send a request and return the answer. Raises CaseError without one; only reads are repeated."""
        reply = send(
            self.endpoint,
            method,
            url,
            body,
            query=query,
            content=content,
            content_type=content_type,
            check=self._check,
        )
        if step is not None:
            request: Json = {"method": method, "url": self.sanitiser.text(url)}
            if query:
                request["query"] = self.sanitiser.document(dict(query))
            if body is not None:
                request["body"] = self.sanitiser.document(dict(body))
            self._record(step, request, reply.status, reply.body)
        return reply

    def note(self, step: str, value: Any) -> None:
        """Record something that a case has derived from answers."""
        self._record(step, {}, 0, value)

    def create(
        self,
        kind: str,
        url: str,
        body: Mapping[str, Any],
        *,
        step: str | None,
        name: str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Reply:
        """Create a resource that is free, or costs pennies. `name` is None if the service makes the id."""
        number = self.journal.creating(kind, name)
        reply = self.call("POST", url, body, step=step, query=query)
        self._settle(number, reply, name)
        return reply

    def submit(self, kind: str, body: Json, *, step: str | None, version: str = "v1") -> Reply:
        """Submit a job, after its highest cost was counted. Raises BudgetError and UnknownPriceError.

        A request that the service refuses is no longer counted.
        """
        cost = highest_cost(body, self.endpoint.location)
        reason = f"{self.names.case}: {body.get('displayName', kind)}"
        self.budget.reserve(cost, reason=reason)
        reply = self.create(kind, self.vertex(kind, version=version), body, step=step)
        if reply.status in _REFUSED:
            self.budget.release(cost, reason=reason)
        else:
            self.used[str(reply.body.get("name", reason))] = cost
            self._hourly[str(reply.body.get("name"))] = hourly_cost(body, self.endpoint.location)
        return reply

    def refused(self, kind: str, body: Json, *, step: str) -> None:
        """Submit a job that the service should refuse. One that is accepted is cancelled at once."""
        reply = self.submit(kind, body, step=step)
        if reply.is_success:
            self.call("POST", self.vertex(f"{reply.body['name']}:cancel"), {})

    def wait_for(self, name: str, states: Collection[str] = ENDED) -> Json:
        """Return a job or pipeline once it is in one of the states, or has ended."""
        until = time.monotonic() + self.pace.limit_seconds
        while True:
            found = self._read(self.vertex(name))
            if found.get("state") in states or found.get("state") in ENDED:
                self._count_use(name, found)
                for below in jobs_below(found):
                    self.journal.created(self.journal.creating(SERVICE_JOBS, below), below)
                return found
            self._pause(until, f"{self.sanitiser.text(name)} is still {found.get('state')}")

    def operation(self, reply: Reply, *, step: str | None = None) -> Json:
        """Wait for a long-running operation of Vertex AI or Artifact Registry. Record and return its end."""
        document = reply.body
        if not reply.is_success:
            raise CaseError(
                f"An operation was expected, but the answer was {reply.status}: {_message(reply)}"
            )
        host = self.endpoint.vertex_url
        if "/repositories" in str(document.get("metadata", {})) or "artifactregistry" in str(document):
            host = self.endpoint.artifact_registry_url
        until = time.monotonic() + self.pace.limit_seconds
        while not document.get("done"):
            self._pause(until, f"the operation {self.sanitiser.text(str(document.get('name')))} is not done")
            document = self._read(f"{host}/v1/{document['name']}")
        if step is not None:
            self._record(step, {"method": "GET", "url": "the operation, at its end"}, 200, document)
        return document

    def eventually(self, read: Callable[[], Any], what: str) -> Any:
        """Call `read` until it returns a true value; return that."""
        until = time.monotonic() + self.pace.limit_seconds
        while not (found := read()):
            self._pause(until, what)
        return found

    def _count_use(self, name: str, job: Json) -> None:
        times = [job.get("createTime"), job.get("endTime")]
        if name in self._hourly and all(times):
            first, last = (
                datetime.datetime.fromisoformat(str(each).replace("Z", "+00:00")) for each in times
            )
            used = self._hourly[name] * (last - first).total_seconds() / 3600
            self.used[name] = min(self.used[name], max(used, 0.0))

    def unexpected(self, what: str, reply: Reply) -> CaseError:
        """Return the error of an answer with which a case cannot go on."""
        return CaseError(self.sanitiser.text(f"{what} was answered {reply.status}: {_message(reply)}"))

    def _settle(self, number: int, reply: Reply, name: str | None) -> None:
        if reply.status in _REFUSED:
            self.journal.gone(number)
        elif reply.is_success:
            given = str(reply.body.get("name", ""))
            operation = given if "/operations/" in given else None
            self.journal.created(number, name or (None if operation else given), operation=operation)

    def _read(self, url: str) -> Json:
        reply = self.call("GET", url)
        if not reply.is_success:
            raise CaseError(f"GET {self.sanitiser.text(url)} was answered {reply.status}: {_message(reply)}")
        return reply.body

    def _record(self, step: str, request: Json, status: int, body: Any) -> None:
        if any(answer.step == step for answer in self.answers):
            raise ValueError(f"case {self.names.case} has two steps {step!r}")
        clean = self.sanitiser.document(body)
        self.answers.append(Answer(step=step, request=request, status=status, body=clean))

    def _check(self) -> None:
        if self.stopped.is_set():
            raise StoppedError("interrupted")

    def _pause(self, until: float, what: str) -> None:
        if time.monotonic() >= until:
            raise CaseError(f"Waited {self.pace.limit_seconds / 60:.0f} minutes: {what}.")
        self.stopped.wait(self.pace.poll_seconds)
        self._check()


def jobs_below(resource: Json) -> Iterator[str]:
    """Yield the jobs that the service made for a tuning job or a pipeline."""
    for trial in resource.get("trials", []):
        if trial.get("customJob"):
            yield str(trial["customJob"])
    backing = resource.get("trainingTaskMetadata", {})
    if isinstance(backing, dict):
        for key in ("backingCustomJob", "backingHyperparameterTuningJob"):
            if backing.get(key):
                yield str(backing[key])


def send(
    endpoint: Endpoint,
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    *,
    query: Mapping[str, str] | None = None,
    content: bytes | None = None,
    content_type: str | None = None,
    check: Callable[[], None] = lambda: None,
) -> Reply:
    """Send a request. A read is repeated after a passing fault, anything else is sent once.

    `check` is called before each try, and may raise. Raises CaseError if there is no answer.
    """
    import google.auth.exceptions
    import requests

    headers = {"Content-Type": content_type} if content_type else None
    tries = _READ_TRIES if method == "GET" else 1
    for left in reversed(range(tries)):
        check()
        try:
            response = clients.session(endpoint).request(
                method,
                url,
                params=dict(query or {}),
                json=body,
                data=content,
                headers=headers,
                timeout=CALL_SECONDS,
                allow_redirects=False,
            )
        except (requests.RequestException, google.auth.exceptions.TransportError) as error:
            if not left:
                raise CaseError(f"{method}: no answer ({type(error).__name__})") from error
        except google.auth.exceptions.GoogleAuthError as error:
            raise CredentialsError(f"the credentials are not accepted: {error}") from error
        else:
            if response.status_code not in retry.TRANSIENT_CODES or not left:
                return Reply(status=response.status_code, body=_document(response.content))
        time.sleep(0.2 * 2 ** (tries - left - 1))
    raise AssertionError("unreachable")


def _document(content: bytes) -> Json:
    try:
        document = json.loads(content or b"{}")
    except ValueError:
        return {"text": content.decode(errors="replace")[:2000]}
    return document if isinstance(document, dict) else {"list": document}


def _message(reply: Reply) -> str:
    error = reply.body.get("error", {})
    return str(error.get("message", error) if isinstance(error, dict) else error)[:300]
