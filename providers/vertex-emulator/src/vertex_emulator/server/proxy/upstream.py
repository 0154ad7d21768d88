"""The caller's own proxy, through which hosts that are not emulated are reached."""

from __future__ import annotations

import os
import re
import socket
import ssl
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from vertex_emulator.server.proxy.tunnel_requests import HTTPS, RefusedError, read_head
from vertex_emulator.server.proxy.variables import is_own

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Upstream:
    """The proxy through which this machine reaches the internet: its address and the header for it.

    With `secured`, the connection to the proxy itself has TLS.
    """

    host: str
    port: int
    authorization: str | None
    secured: bool = False


def upstream_of(host: str, environment: Mapping[str, str] | None = None) -> Upstream | None:
    """Return the proxy that the variables https_proxy and no_proxy name for a host, or None.

    Raises `RefusedError` for a proxy of an unknown kind.
    """
    given = os.environ if environment is None else environment
    url = given.get("https_proxy") or given.get("HTTPS_PROXY") or ""
    exempt = given.get("no_proxy") or given.get("NO_PROXY") or ""
    if not url or is_own(url) or proxy_bypass_environment(host, {"no": exempt}):
        return None
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.scheme not in _PORTS or parts.hostname is None:
        raise RefusedError(
            502, f"The emulator can use a proxy http://HOST:PORT or https://HOST:PORT, not {parts.scheme}://."
        )
    authorization = None
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = f"Basic {b64encode(credentials).decode()}"
    port = parts.port or _PORTS[parts.scheme]
    return Upstream(parts.hostname, port, authorization, secured=parts.scheme == "https")


def connect_through(upstream: Upstream, host: str, *, seconds: float) -> socket.socket:
    """Return a tunnel of the other proxy to a host. Raises `RefusedError`, `OSError`."""
    connection = socket.create_connection((upstream.host, upstream.port), seconds)
    try:
        if upstream.secured:
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=upstream.host)
        target = f"[{host}]:{HTTPS}" if ":" in host else f"{host}:{HTTPS}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if upstream.authorization is not None:
            lines.append(f"Proxy-Authorization: {upstream.authorization}")
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        status = read_head(connection, seconds=seconds)[0]
        if not re.match(r"HTTP/1\.[01] 2[0-9]{2}(?: |$)", status):
            raise RefusedError(502, f"The proxy {upstream.host} does not connect to {host}: {status[:100]}")
    except BaseException:
        connection.close()
        raise
    return connection
