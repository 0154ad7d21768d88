"""Client for the controls of a running emulator (`/_local/...`), for the command and for tests.

It needs only the standard library.
"""

from __future__ import annotations

import base64
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

from vertex_emulator.kernel.timeouts import CLIENT, ClientTimeouts

if TYPE_CHECKING:
    from vertex_training.replica_environment.replica import Contract

_BLOCK = 1 << 20
_CONFLICT = 409


class ControlError(Exception):
    """The emulator returned an error, or did not respond (`status` 0); the message has the reason."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, kw_only=True)
class Control:
    """The controls of the emulator at `url`. Every method raises `ControlError`."""

    url: str
    """The URL of the emulator."""
    token: str = field(repr=False)
    """The bearer token for requests."""
    timeouts: ClientTimeouts = field(default=CLIENT, repr=False)
    """Waits of this process, not shorter than the emulator's scale requires."""

    def add_fault(self, fault: Mapping[str, Any]) -> dict[str, Any]:
        """Set a fault, in the JSON of docs/guides/emulator/faults.md, and return it with its number."""
        return self.call("POST", "/_local/faults", dict(fault))

    def faults(self) -> list[dict[str, Any]]:
        """Return the faults, each with the numbers of seen and affected calls."""
        return list(self.call("GET", "/_local/faults")["faults"])

    def remove_fault(self, number: int) -> None:
        """Remove one fault."""
        self.call("DELETE", f"/_local/faults/{number}")

    def clear_faults(self) -> int:
        """Remove all faults. Return how many were removed."""
        return int(self.call("DELETE", "/_local/faults")["removed"])

    def requests(self, *, last: int | None = None, after: int = 0) -> dict[str, Any]:
        """Return the `requests`, oldest first, and the `counts`: the number of calls of each method."""
        query = f"?after={after}" if last is None else f"?after={after}&last={last}"
        return self.call("GET", f"/_local/requests{query}")

    def forget_requests(self) -> None:
        """Clear the requests and counts."""
        self.call("DELETE", "/_local/requests")

    def kill_replica(
        self, job_id: str, replica: str, *, after: float = 0.0, times: int = 1, out_of_memory: bool = False
    ) -> dict[str, Any]:
        """Kill a replica `after` seconds after its start, and after its later starts up to `times`."""
        body = {"after": after, "times": times, "outOfMemory": out_of_memory}
        return self.call(
            "POST", f"/_local/jobs/{quote(job_id)}/replicas/{quote(replica, safe='')}/kill", body
        )

    def preempt_replica(
        self, job_id: str, replica: str, *, after: float = 0.0, times: int = 1
    ) -> dict[str, Any]:
        """Preempt the machine of a replica, like a Spot VM."""
        body = {"after": after, "times": times}
        path = f"/_local/jobs/{quote(job_id)}/replicas/{quote(replica, safe='')}/preempt"
        return self.call("POST", path, body)

    def clock(self) -> dict[str, Any]:
        """Return the emulator's `time`, the machine's `realTime`, and the `rate`, which is 0 if frozen."""
        return self.call("GET", "/_local/clock")

    def freeze_clock(self) -> dict[str, Any]:
        """Freeze the clock."""
        return self.call("POST", "/_local/clock/freeze", {})

    def advance_clock(self, seconds: float) -> dict[str, Any]:
        """Advance the clock by that many seconds."""
        return self.call("POST", "/_local/clock/advance", {"seconds": seconds})

    def scale_clock(self, factor: float) -> dict[str, Any]:
        """Run the clock `factor` times as fast as the machine's. A frozen clock runs again."""
        return self.call("POST", "/_local/clock/scale", {"factor": factor})

    def reset_clock(self) -> dict[str, Any]:
        """Set the clock to the machine's time, and let it run."""
        return self.call("POST", "/_local/clock/reset", {})

    def quotas(self) -> list[dict[str, Any]]:
        """Return the quotas and their usage."""
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
        """Set the quota of an accelerator or metric, in one region or in each."""
        body = {"metric": metric, "limit": limit, "preemptible": preemptible, "whenExceeded": when_exceeded}
        return self.call("POST", "/_local/quotas", body if region is None else {**body, "region": region})

    def clear_quotas(self, *, metric: str | None = None, region: str | None = None) -> int:
        """Remove all quotas, or only for a metric or region. Return how many were removed."""
        return self._remove("/_local/quotas", metric=metric, region=region)

    def capacities(self) -> list[dict[str, Any]]:
        """Return the capacities that are set."""
        return list(self.call("GET", "/_local/capacities")["capacities"])

    def set_capacity(
        self,
        machine: str,
        available: int,
        *,
        region: str | None = None,
        strategy: str | None = None,
        wait_seconds: float | None = None,
    ) -> dict[str, Any]:
        """Set how many machines of a type, or accelerators, jobs can have at the same time."""
        options = {"region": region, "strategy": strategy, "waitSeconds": wait_seconds}
        given = {name: value for name, value in options.items() if value is not None}
        return self.call("POST", "/_local/capacities", {"machine": machine, "available": available, **given})

    def clear_capacities(self, *, machine: str | None = None, region: str | None = None) -> int:
        """Remove all capacities, or only for a machine or region. Return how many were removed."""
        return self._remove("/_local/capacities", machine=machine, region=region)

    def denials(self) -> list[dict[str, Any]]:
        """Return the denied permissions."""
        return list(self.call("GET", "/_local/denials")["denials"])

    def deny(self, permission: str, *, resource: str | None = None) -> dict[str, Any]:
        """Deny a permission to every caller, on one resource or everywhere."""
        return self.call("POST", "/_local/denials", {"permission": permission, "resource": resource})

    def allow(self, permission: str | None = None, *, resource: str | None = None) -> int:
        """Remove all denials, or only for a permission or resource. Return how many were removed."""
        return self._remove("/_local/denials", permission=permission, resource=resource)

    def allowed_hosts(self) -> list[str]:
        """Return the hosts of Google that programs may reach through the proxy."""
        return list(self.call("GET", "/_local/allowed-hosts")["hosts"])

    def allow_host(self, host: str) -> list[str]:
        """Let programs reach a host of Google that the emulator does not have. Return all such hosts."""
        return list(self.call("POST", "/_local/allowed-hosts", {"host": host})["hosts"])

    def refuse_hosts(self) -> None:
        """Refuse all hosts of Google that the emulator does not have."""
        self.call("DELETE", "/_local/allowed-hosts")

    def services(self) -> list[dict[str, Any]]:
        """Return the services that were enabled or disabled."""
        return list(self.call("GET", "/_local/services")["services"])

    def enable_service(
        self, service: str, *, enabled: bool = True, project: str | None = None
    ) -> dict[str, Any]:
        """Enable or disable a service, in one project or in each."""
        body = {"service": service, "enabled": enabled, "project": project}
        return self.call("PUT", "/_local/services", body)

    def reset_services(self) -> None:
        """Enable the emulator's services in each project."""
        self.call("DELETE", "/_local/services")

    def set_secret(self, name: str, value: str | bytes, *, project: str = "local") -> str:
        """Add a version to a secret of Secret Manager, and create the secret first. Return its full name."""
        parent, data = f"projects/{project}", value.encode() if isinstance(value, str) else value
        try:
            new: dict[str, Any] = {"replication": {"automatic": {}}}
            self.call("POST", f"/v1/{parent}/secrets?{urlencode({'secretId': name})}", new)
        except ControlError as error:
            if error.status != _CONFLICT:
                raise
        version = {"payload": {"data": base64.b64encode(data).decode("ascii")}}
        self.call("POST", f"/v1/{parent}/secrets/{quote(name, safe='')}:addVersion", version)
        return f"{parent}/secrets/{name}"

    def start_delay(self) -> float:
        """Return the delay of new jobs in seconds."""
        return float(self.call("GET", "/_local/start-delay")["seconds"])

    def set_start_delay(self, seconds: float) -> None:
        """Delay the start of the replicas of new jobs by that many seconds."""
        self.call("PUT", "/_local/start-delay", {"seconds": seconds})

    def unknown_types_allowed(self) -> bool:
        """Return whether new jobs may use machine types that the emulator does not know."""
        return bool(self.call("GET", "/_local/unknown-types")["allowed"])

    def allow_unknown_types(self, allowed: bool = True) -> None:
        """Allow or reject machine types that the emulator does not know, from now on."""
        self.call("PUT", "/_local/unknown-types", {"allowed": allowed})

    def contract(self) -> Contract:
        """Return the form of CLUSTER_SPEC in new jobs."""
        found: Contract = self.call("GET", "/_local/contract")["contract"]
        return found

    def set_contract(self, contract: Contract) -> None:
        """Set the form of CLUSTER_SPEC in new jobs."""
        self.call("PUT", "/_local/contract", {"contract": contract})

    def network(self) -> str:
        """Return the network of the replicas of new jobs: "host" or "namespace"."""
        return str(self.call("GET", "/_local/network")["network"])

    def set_network(self, network: str) -> None:
        """Set the network of the replicas of new jobs."""
        self.call("PUT", "/_local/network", {"network": network})

    def stale_objects(self) -> bool:
        """Return whether replicas of new jobs see an object that another one rewrites as it was."""
        return bool(self.call("GET", "/_local/stale-objects")["stale"])

    def set_stale_objects(self, stale: bool) -> None:
        """Let replicas of new jobs see an object below /gcs that another one rewrites as it was, or not."""
        self.call("PUT", "/_local/stale-objects", {"stale": stale})

    def network_of_replica(self, job_id: str, replica: str) -> dict[str, Any]:
        """Return the `folder` with which `forwarding.connect` reaches a replica in a network of its own."""
        return self.call("GET", f"/_local/jobs/{quote(job_id)}/replicas/{quote(replica, safe='')}/network")

    def persistent_resource_delay(self) -> float:
        """Return how long a change of a persistent resource takes, in seconds."""
        return float(self.call("GET", "/_local/persistent-resource-delay")["seconds"])

    def set_persistent_resource_delay(self, seconds: float) -> None:
        """Set how long a creation, update, reboot or deletion of a persistent resource takes."""
        self.call("PUT", "/_local/persistent-resource-delay", {"seconds": seconds})

    def replica_limit(self) -> int:
        """Return how many replicas can run at the same time."""
        return int(self.call("GET", "/_local/replica-limit")["replicas"])

    def set_replica_limit(self, replicas: int) -> None:
        """Set how many replicas can run at the same time. Further jobs wait."""
        self.call("PUT", "/_local/replica-limit", {"replicas": replicas})

    def reset(self) -> None:
        """End and delete all jobs, delete all buckets and clear all settings. The emulator keeps running."""
        self.call("POST", "/_local/reset", {}, seconds=self.timeouts.transfer)

    def export_state(self, path: Path) -> int:
        """Write the emulator's state to a new file and return its size. Also raises `OSError`."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            try:
                return self._download("/_local/export", file)
            except BaseException:
                path.unlink()
                raise

    def import_state(self, path: Path) -> dict[str, Any]:
        """Add the state from a file, and return the numbers of added items. If that fails, nothing is added.

        Also raises `OSError`.
        """
        with path.open("rb") as file:
            headers = {"Content-Type": "application/x-tar", "Content-Length": str(path.stat().st_size)}
            return self._call("POST", "/_local/import", file, headers, seconds=self.timeouts.transfer)

    def jobs(self) -> list[dict[str, Any]]:
        """Return all jobs with their replicas, newest first."""
        return list(self.call("GET", "/_local/jobs")["jobs"])

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, seconds: float | None = None
    ) -> dict[str, Any]:
        """Send a request and return the JSON object of the response. It uses no proxy."""
        seconds = self.timeouts.control if seconds is None else seconds
        if body is None:
            return self._call(method, path, None, {}, seconds=seconds)
        headers = {"Content-Type": "application/json"}
        return self._call(method, path, json.dumps(body).encode(), headers, seconds=seconds)

    def _remove(self, path: str, **parameters: str | None) -> int:
        given = {name: value for name, value in parameters.items() if value is not None}
        return int(self.call("DELETE", f"{path}?{urlencode(given)}")["removed"])

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
        with self._answer("GET", path, None, {}, seconds=self.timeouts.transfer) as answer:
            promised = answer.length
            size = 0
            while data := answer.read(_BLOCK):
                size += file.write(data)
            if promised is not None and size < promised:  # `read` raises no error
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
        """Yield a successful response while it is read."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port, timeout=seconds, blocksize=_BLOCK
        )
        sent = {"Authorization": f"Bearer {self.token}", "User-Agent": "vertex-training", **headers}
        try:
            try:
                connection.request(method, path, body=body, headers=sent)
            except (BrokenPipeError, ConnectionResetError):
                if not isinstance(body, io.IOBase):  # the emulator may respond without reading a whole file
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
