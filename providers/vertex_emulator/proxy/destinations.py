"""The places to which a connection through the proxy may lead."""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

HTTPS = 443

_REGION = r"[a-z]+-[a-z]+[0-9]{1,2}"
_EMULATED = re.compile(
    rf"(?:www|storage|logging|artifactregistry|aiplatform|{_REGION}-aiplatform)\.googleapis\.com"
    r"|[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]\.storage\.googleapis\.com"
    rf"|aiplatform\.{_REGION}\.rep\.googleapis\.com"
    rf"|(?:{_REGION}|us|europe|asia)-docker\.pkg\.dev"
    r"|(?:(?:us|eu|asia)\.)?gcr\.io"
)
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*\.?")
_CONNECT_SECONDS = 30.0


class RefusedError(Exception):
    """The proxy does not connect there. `status` is the answer's status; the message has the reason."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Upstream:
    """The proxy through which this machine reaches the internet: its address and the header for it."""

    host: str
    port: int
    authorization: str | None


def is_emulated(host: str) -> bool:
    """Return whether a host is that of a service that the emulator has."""
    return _EMULATED.fullmatch(host) is not None


def parse(target: str) -> str:
    """Return the host of a CONNECT request's target. Raises `RefusedError` for a port other than 443."""
    host, colon, port = target.rpartition(":")
    host = host.lower()
    if not colon or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise RefusedError(400, "The target of CONNECT must be HOST:PORT.")
    if int(port) != HTTPS:
        raise RefusedError(403, f"The proxy connects to port 443 only, not to {port}.")
    literal = host.removeprefix("[").removesuffix("]")
    if not _NAME.fullmatch(host) and not _is_address(literal):
        raise RefusedError(400, "The target of CONNECT is not the name of a host.")
    return literal.rstrip(".")


def connect(host: str) -> socket.socket:
    """Connect to a public address of a host that is not emulated. Raises `RefusedError`, `OSError`.

    The address that was checked is the one that is used: a second answer of the name server has no effect.
    """
    _check_name(host)
    upstream = upstream_of(host)
    if upstream is not None:
        return _connect_through(upstream, host)
    error: OSError | None = None
    found = socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    for _, _, _, _, address in found:
        check_address(str(address[0]), host)
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        try:
            connection.settimeout(_CONNECT_SECONDS)
            connection.connect(address)
            return connection
        except OSError as failed:
            connection.close()
            error = failed
    raise error or OSError(f"{host} has no address")


def check_address(text: str, host: str) -> None:
    """Refuse an address of this machine, of its network, or with a special meaning. Raises `RefusedError`."""
    address = ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    for each in (address, *([mapped] if mapped else [])):
        if not each.is_global or each.is_multicast or each.is_reserved:
            raise RefusedError(403, f"The proxy connects to public addresses only; {host} has {address}.")


def upstream_of(host: str, environment: Mapping[str, str] | None = None) -> Upstream | None:
    """Return the proxy that the variables https_proxy and no_proxy name for a host, or None."""
    proxies = getproxies_environment() if environment is None else dict(environment)
    url = proxies.get("https")
    if not url or proxy_bypass_environment(host, proxies):
        return None
    parts = urlsplit(url if "//" in url else f"http://{url}")
    if parts.hostname is None:
        return None
    authorization = None
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = f"Basic {b64encode(credentials).decode()}"
    return Upstream(parts.hostname, parts.port or 80, authorization)


def _check_name(host: str) -> None:
    if _is_address(host):
        check_address(host, host)
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host:
        raise RefusedError(403, f"The proxy connects to public hosts only, not to {host}.")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _connect_through(upstream: Upstream, host: str) -> socket.socket:
    connection = socket.create_connection((upstream.host, upstream.port), _CONNECT_SECONDS)
    try:
        target = f"[{host}]:{HTTPS}" if ":" in host else f"{host}:{HTTPS}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if upstream.authorization is not None:
            lines.append(f"Proxy-Authorization: {upstream.authorization}")
        connection.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        status = read_head(connection)[0]
        if not re.match(r"HTTP/1\.[01] 2[0-9]{2}(?: |$)", status):
            raise RefusedError(502, f"The proxy {upstream.host} does not connect to {host}: {status[:100]}")
    except BaseException:
        connection.close()
        raise
    return connection


_MAX_HEAD = 16 * 1024


def read_head(connection: socket.socket) -> list[str]:
    """Return the lines of a message's head, byte by byte, so that nothing after it is consumed.

    Raises `RefusedError` if it is too long, and `ConnectionError` if it ends early.
    """
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionAbortedError("the connection was closed before its request was complete")
        head += byte
        if len(head) > _MAX_HEAD:
            raise RefusedError(431, "The head of the request is too long.")
    return head.decode("latin-1").split("\r\n")[:-2]
