"""Asks a running emulator over HTTP for what only it can tell or do: `/_local/...`.

For the command and for tests; the standard library only.
"""

from __future__ import annotations

import http.client
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit

if TYPE_CHECKING:
    from vertex_training.environment.replica import Contract

_SECONDS = 30.0
_LONG = 600.0
_BLOCK = 1 << 20


class ControlError(Exception):
    """The emulator refused, or did not answer (`status` 0); the message says why."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Control:
    """The controls of one emulator, at `url`. Every method raises `ControlError`."""

    url: str
    token: str = field(repr=False)

    def add_fault(self, fault: Mapping[str, Any]) -> dict[str, Any]:
        """Set a fault, in the JSON of docs/testing-with-the-emulator.md; it comes back with its number."""
        return self.call("POST", "/_local/faults", dict(fault))

    def faults(self) -> list[dict[str, Any]]:
        """The faults that are set, with how many calls each has seen and spoilt."""
        return list(self.call("GET", "/_local/faults")["faults"])

    def remove_fault(self, number: int) -> None:
        """Remove one fault."""
        self.call("DELETE", f"/_local/faults/{number}")

    def clear_faults(self) -> int:
        """Remove all faults; how many there were."""
        return int(self.call("DELETE", "/_local/faults")["removed"])

    def requests(self, *, last: int | None = None, after: int = 0) -> dict[str, Any]:
        """`requests`, the oldest first, and `counts` of calls by method."""
        query = f"?after={after}" if last is None else f"?after={after}&last={last}"
        return self.call("GET", f"/_local/requests{query}")

    def forget_requests(self) -> None:
        """Forget the requests and counts so far."""
        self.call("DELETE", "/_local/requests")

    def kill_replica(
        self, job_id: str, replica: str, *, after: float = 0.0, times: int = 1, out_of_memory: bool = False
    ) -> dict[str, Any]:
        """Kill so many starts of a replica, each once it has run for so many seconds."""
        body = {"after": after, "times": times, "outOfMemory": out_of_memory}
        return self.call(
            "POST", f"/_local/jobs/{quote(job_id)}/replicas/{quote(replica, safe='')}/kill", body
        )

    def preempt_replica(
        self, job_id: str, replica: str, *, after: float = 0.0, times: int = 1
    ) -> dict[str, Any]:
        """Take the machine of a replica away, as a Spot VM's."""
        body = {"after": after, "times": times}
        path = f"/_local/jobs/{quote(job_id)}/replicas/{quote(replica, safe='')}/preempt"
        return self.call("POST", path, body)

    def clock(self) -> dict[str, Any]:
        """The emulator's `time`, the machine's `realTime`, and `rate`: seconds that pass in one, 0 frozen."""
        return self.call("GET", "/_local/clock")

    def freeze_clock(self) -> dict[str, Any]:
        """Let the clock stand still."""
        return self.call("POST", "/_local/clock/freeze", {})

    def advance_clock(self, seconds: float) -> dict[str, Any]:
        """Let so many seconds pass at once."""
        return self.call("POST", "/_local/clock/advance", {"seconds": seconds})

    def scale_clock(self, factor: float) -> dict[str, Any]:
        """Let so many seconds pass in one; a frozen clock goes again."""
        return self.call("POST", "/_local/clock/scale", {"factor": factor})

    def reset_clock(self) -> dict[str, Any]:
        """The machine's time again."""
        return self.call("POST", "/_local/clock/reset", {})

    def quotas(self) -> list[dict[str, Any]]:
        """The quotas that are set, and what is used of each."""
        return list(self.call("GET", "/_local/quotas")["quotas"])

    def set_quota(
        self,
        metric: str,
        limit: int,
        *,
        region: str | None = None,
        preemptible: bool = False,
        when_exceeded: str | None = None,
    ) -> dict[str, Any]:
        """Set the quota of an accelerator or metric in one region, or in each."""
        body = {"metric": metric, "limit": limit, "preemptible": preemptible, "whenExceeded": when_exceeded}
        return self.call("POST", "/_local/quotas", body if region is None else {**body, "region": region})

    def clear_quotas(self, *, metric: str | None = None, region: str | None = None) -> int:
        """Remove all quotas, or those of a metric, or of a region; how many there were."""
        given = {name: value for name, value in (("metric", metric), ("region", region)) if value is not None}
        return int(self.call("DELETE", f"/_local/quotas?{urlencode(given)}")["removed"])

    def start_delay(self) -> float:
        """How many seconds new jobs wait."""
        return float(self.call("GET", "/_local/start-delay")["seconds"])

    def set_start_delay(self, seconds: float) -> None:
        """Let the jobs that are created from now on wait so long before their replicas start."""
        self.call("PUT", "/_local/start-delay", {"seconds": seconds})

    def unknown_types_allowed(self) -> bool:
        """Whether machine types that the catalog does not have are taken."""
        return bool(self.call("GET", "/_local/unknown-types")["allowed"])

    def allow_unknown_types(self, allowed: bool = True) -> None:
        """Take machine types that the catalog does not have from now on, or refuse them again."""
        self.call("PUT", "/_local/unknown-types", {"allowed": allowed})

    def contract(self) -> Contract:
        """In which form new jobs get CLUSTER_SPEC."""
        found: Contract = self.call("GET", "/_local/contract")["contract"]
        return found

    def set_contract(self, contract: Contract) -> None:
        """Give CLUSTER_SPEC in this form to the jobs that are created from now on."""
        self.call("PUT", "/_local/contract", {"contract": contract})

    def persistent_resource_delay(self) -> float:
        """How many seconds each change of a persistent resource takes."""
        return float(self.call("GET", "/_local/persistent-resource-delay")["seconds"])

    def set_persistent_resource_delay(self, seconds: float) -> None:
        """Let creations, updates, reboots and deletions that begin from now on take so long."""
        self.call("PUT", "/_local/persistent-resource-delay", {"seconds": seconds})

    def replica_limit(self) -> int:
        """How many replicas run at once."""
        return int(self.call("GET", "/_local/replica-limit")["replicas"])

    def set_replica_limit(self, replicas: int) -> None:
        """Let jobs wait while so many replicas run."""
        self.call("PUT", "/_local/replica-limit", {"replicas": replicas})

    def reset(self) -> None:
        """End all jobs, remove them and all buckets, and forget what was set; the emulator runs on."""
        self.call("POST", "/_local/reset", {}, seconds=_LONG)

    def export_state(self, path: Path) -> int:
        """Write all that it holds to a new file; its size. Raises `OSError` too."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                return self._download("/_local/export", file)
            except BaseException:
                path.unlink()
                raise

    def import_state(self, path: Path) -> dict[str, Any]:
        """Add what such a file holds, all or nothing; the numbers of it. Raises `OSError` too."""
        with path.open("rb") as file:
            headers = {"Content-Type": "application/x-tar", "Content-Length": str(path.stat().st_size)}
            return self._call("POST", "/_local/import", file, headers, seconds=_LONG)

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs with their replicas, the newest first."""
        return list(self.call("GET", "/_local/jobs")["jobs"])

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, seconds: float = _SECONDS
    ) -> dict[str, Any]:
        """The JSON object that a request is answered with. Never through a proxy."""
        if body is None:
            return self._call(method, path, None, {}, seconds=seconds)
        headers = {"Content-Type": "application/json"}
        return self._call(method, path, json.dumps(body).encode(), headers, seconds=seconds)

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | BinaryIO | None,
        headers: Mapping[str, str],
        *,
        seconds: float,
    ) -> dict[str, Any]:
        with self._answer(method, path, body, headers, seconds=seconds) as answer:
            return dict(json.loads(answer.read()))

    def _download(self, path: str, file: BinaryIO) -> int:
        with self._answer("GET", path, None, {}, seconds=_LONG) as answer:
            promised = answer.length
            size = 0
            while data := answer.read(_BLOCK):
                size += file.write(data)
            if promised is not None and size < promised:  # `read` does not tell
                raise http.client.HTTPException(f"its answer ended after {size} of {promised} bytes")
            return size

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        body: bytes | BinaryIO | None,
        headers: Mapping[str, str],
        *,
        seconds: float,
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is no error, as long as it is read."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=seconds, blocksize=_BLOCK
        )
        sent = {"Authorization": f"Bearer {self.token}", "User-Agent": "vertex-training", **headers}
        try:
            try:
                connection.request(method, path, body=body, headers=sent)
            except (BrokenPipeError, ConnectionResetError):
                if not isinstance(body, io.IOBase):  # who does not want all of a body answers all the same
                    raise
            answer = connection.getresponse()
            if answer.status >= 400:
                document = json.loads(answer.read())
                raise ControlError(str(document["error"]["message"]), status=answer.status)
            yield answer
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ControlError(
                f"The emulator at {self.url} did not answer {method} {path}: {error}"
            ) from error
        finally:
            connection.close()
