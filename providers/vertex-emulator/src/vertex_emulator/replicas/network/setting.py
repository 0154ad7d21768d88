"""The network that new jobs get: a setting in memory, and its admin path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from vertex_emulator.kernel.timeouts import DaemonTimeouts
from vertex_emulator.replicas.network.addresses import LOOPBACK, SUBNET
from vertex_emulator.replicas.network.probe import problem_with
from vertex_emulator.replicas.plan import Network
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_emulator.server.http.messages import HttpError
from vertex_emulator.server.http.settings import Setting, choice


class ReplicaNetwork(Setting[Network]):
    """The network of the replicas of new jobs. `sandbox` returns how replicas are started here."""

    path, key = "/_local/network", "network"

    def __init__(self, sandbox: Callable[[], Sandbox], *, timeouts: DaemonTimeouts) -> None:
        super().__init__("host")
        self._timeouts = timeouts
        self._sandbox = sandbox

    def lines(self) -> tuple[str, ...]:
        """Return lines for the log of a new job."""
        if self.value == "host":
            return ()
        return (
            "Emulator: network: each replica has an address and all ports of its own. It reaches the other "
            "replicas of this job and the emulator; other hosts only with HTTPS through the proxy in "
            "https_proxy.",
        )

    def info(self) -> Mapping[str, str]:
        """Return the setting, and the range of the addresses that replicas of new jobs get."""
        addresses = LOOPBACK if self.value == "host" else SUBNET
        return {"network": self.value, "replicaAddresses": str(addresses)}

    def read(self, body: Mapping[str, Any]) -> Network:
        given: Network = choice(body, "network", get_args(Network))
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
                "`vertex-emulator network host`.",
            )
        return given
