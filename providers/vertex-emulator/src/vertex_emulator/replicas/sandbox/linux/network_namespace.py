"""The network namespace of a replica, made before the replica starts (Linux)."""

from __future__ import annotations

from dataclasses import dataclass

from vertex_emulator.replicas.sandbox.linux import namespaces as ns


@dataclass(frozen=True, kw_only=True)
class NetworkNamespace:
    """Open descriptors: `network` of the namespace, `users` of the user namespace that owns it.

    `users` is None if the machine's own one does. A replica gets a user namespace below that: it has no
    rights over its network.
    """

    network: int
    users: int | None = None

    def enter(self) -> None:
        """Enter it, in the process that will fork the replica. Raises `OSError`."""
        if self.users is not None:
            ns.join(self.users)
        ns.join(self.network, ns.CLONE_NEWNET)
