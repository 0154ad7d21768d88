"""The network that new jobs get: a setting in memory, and its admin path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.replicas.network.addresses import LOOPBACK, SUBNET
from vertex_emulator.replicas.network.probe import problem_with
from vertex_emulator.replicas.plan import Network
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.http.bodies import body_of
from vertex_emulator.server.http.messages import HttpError, Request, Response, Route, json_response

_PATH = "/_local/network"
_NETWORKS: tuple[Network, ...] = get_args(Network)


class ReplicaNetwork:
    """The network of the replicas of new jobs. `sandbox` returns how replicas are started here."""

    def __init__(self, sandbox: Callable[[], Sandbox], *, timeouts: DaemonTimeouts) -> None:
        self._timeouts = timeouts
        self.chosen: Network = "host"
        self._sandbox = sandbox

    def reset(self) -> None:
        """Go back to the network of the machine."""
        self.chosen = "host"

    def lines(self) -> tuple[str, ...]:
        """Return lines for the log of a new job."""
        if self.chosen == "host":
            return ()
        return (
            "Emulator: network: each replica has an address and all ports of its own. It reaches the other "
            "replicas of this job and the emulator; other hosts only with HTTPS through the proxy in "
            "https_proxy.",
        )

    def info(self) -> Mapping[str, str]:
        """Return the setting, and the range of the addresses that replicas of new jobs get."""
        addresses = LOOPBACK if self.chosen == "host" else SUBNET
        return {"network": self.chosen, "replicaAddresses": str(addresses)}

    def routes(self) -> Sequence[Route]:
        """Return GET and PUT; their body looks like {"network": "namespace"}."""
        return (Route("GET", _PATH, self._get), Route("PUT", _PATH, self._put))

    def _get(self, _request: Request, _match: re.Match[str]) -> Response:
        return json_response({"network": self.chosen})

    def _put(self, request: Request, match: re.Match[str]) -> Response:
        given = body_of(request, "network").get("network")
        if given not in _NETWORKS:
            raise HttpError(400, "", f"network must be {' or '.join(_NETWORKS)}.")
        problem = None
        if given == "namespace":
            problem = problem_with(self._sandbox(), timeouts=self._timeouts)
        if problem is not None:
            raise HttpError(
                400,
                "FAILED_PRECONDITION",
                f"network: replicas cannot have a network of their own on this machine: {problem}. Allow "
                "unprivileged user namespaces (Ubuntu: sudo sysctl "
                "kernel.apparmor_restrict_unprivileged_userns=0), run the emulator as root, or keep "
                "`vertex-training emulator network host`.",
            )
        self.chosen = _NETWORKS[_NETWORKS.index(given)]
        return self._get(request, match)
