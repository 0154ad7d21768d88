"""A port for a server that is told its port."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_FIRST = 10_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a free port below those that the system hands out.

    Of the latter, each may go to another process between the look and the use. The choice does not depend on
    the seed of `random`, which is the same in all processes of a test run.
    """
    end = int(_RANGE.read_text().split()[0])
    while True:
        port = _FIRST + secrets.randbelow(end - _FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
