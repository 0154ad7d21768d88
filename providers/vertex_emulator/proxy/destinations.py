"""The places to which a connection through the proxy may lead."""

from __future__ import annotations

import os
import re
import socket
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from vertex_emulator.proxy.variables import is_own

HTTPS = 443
_NAT64 = IPv6Network("64:ff9b::/96")

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


Address = tuple[int, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]
"""The family and the address of a socket."""


def resolve_host(host: str) -> list[Address]:
    """Return the addresses of a host. Raises `OSError`."""
    found = socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def connect(
    host: str,
    environment: Mapping[str, str] | None = None,
    *,
    resolve: Callable[[str], Sequence[Address]] = resolve_host,
) -> socket.socket:
    """Connect to a public address of a host that is not emulated. Raises `RefusedError`, `OSError`.

    The address that was checked is the one that is used: a second answer of the name server has no effect.
    `environment` may name a further proxy, which also reaches names that this machine cannot resolve.
    """
    _check_name(host)
    upstream = upstream_of(host, environment)
    try:
        found = resolve(host)
    except OSError:
        if upstream is None:
            raise
        found = []
    for _, address in found:
        check_address(str(address[0]), host)
    if upstream is not None:
        return _connect_through(upstream, host)
    error: OSError | None = None
    for family, address in found:
        connection = socket.socket(family, socket.SOCK_STREAM)
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
    for each in _reached(address):
        if not each.is_global or each.is_multicast or each.is_reserved:
            raise RefusedError(403, f"The proxy connects to public addresses only; {host} has {address}.")


def _reached(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """Return the addresses that packets reach: IPv6 has several ways to write an IPv4 address."""
    if isinstance(address, IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address in _NAT64:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    embedded = (address.sixtofour, *(address.teredo or ()))
    return [address, *(each for each in embedded if each is not None)]


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
    if parts.scheme != "http" or parts.hostname is None:
        raise RefusedError(
            502, f"The emulator can use a proxy of the form http://HOST:PORT only, not {parts.scheme}://."
        )
    authorization = None
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        authorization = f"Basic {b64encode(credentials).decode()}"
    return Upstream(parts.hostname, parts.port or 80, authorization)


def _check_name(host: str) -> None:
    if _is_address(host):
        check_address(host, host)
        return
    # Resolvers take 127.1 and 0x7f000001 for addresses.
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]):
        raise RefusedError(403, f"The proxy connects to names of hosts, not to {host}.")
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


def read_head(connection: socket.socket, *, seconds: float = _CONNECT_SECONDS) -> list[str]:
    """Return the lines of a message's head, byte by byte, so that nothing after it is consumed.

    Raises `RefusedError`, and `TimeoutError` if the whole head takes longer than `seconds`.
    """
    until = time.monotonic() + seconds
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the head of the request took too long")
        connection.settimeout(left)
        byte = connection.recv(1)
        if not byte:
            raise ConnectionAbortedError("the connection was closed before its request was complete")
        head += byte
        if len(head) > _MAX_HEAD:
            raise RefusedError(431, "The head of the request is too long.")
    return head.decode("latin-1").split("\r\n")[:-2]
