"""A channel to the gRPC server of an emulator, for Google's clients."""

from __future__ import annotations

import grpc

from vertex_emulator.daemon.daemon import Daemon


def connected(daemon: Daemon, token: str) -> grpc.Channel:
    """Return a channel whose calls carry a token."""
    assert daemon.grpc_address is not None
    credentials = grpc.composite_channel_credentials(
        grpc.local_channel_credentials(), grpc.access_token_call_credentials(token)
    )
    return grpc.secure_channel(daemon.grpc_address, credentials)
