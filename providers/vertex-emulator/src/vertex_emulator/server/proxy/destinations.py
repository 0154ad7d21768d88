"""The places to which a connection through the proxy may lead."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from vertex_emulator.kernel.timeouts import DAEMON
from vertex_emulator.server.http.auth import Access
from vertex_emulator.server.proxy.tunnel_requests import HTTPS, RefusedError, is_address
from vertex_emulator.server.proxy.upstream import connect_through, upstream_of

_NAT64 = IPv6Network("64:ff9b::/96")


Address = tuple[int, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]
"""The family and the address of a socket."""


def resolve_host(host: str) -> list[Address]:
    """Return the addresses of a host. Raises `OSError`."""
    resolved = socket.getaddrinfo(host, HTTPS, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in resolved]


def connect(
    host: str,
    access: Access,
    environment: Mapping[str, str] | None = None,
    *,
    seconds: float = DAEMON.upstream,
    resolve: Callable[[str], Sequence[Address]] = resolve_host,
) -> socket.socket:
    """Connect to a public address of a host that is not emulated. Raises `RefusedError`, `OSError`.

    The address that was checked is the one that is used: a second answer of the name server has no effect.
    `environment` may name the caller's own proxy. For a name that this machine cannot resolve, that proxy
    decides; so only the owner's programs, which could use it themselves, get there without the check.
    """
    _check_name(host)
    upstream = upstream_of(host, environment)
    try:
        addresses = resolve(host)
    except OSError:
        if upstream is None:
            raise
        if access is not Access.OWNER:
            raise RefusedError(
                403,
                f"This machine cannot resolve {host}, so its address cannot be checked before your own proxy "
                "connects to it for a job. To allow it, add the host with its public address to /etc/hosts.",
            ) from None
        addresses = []
    for _, address in addresses:
        check_address(str(address[0]), host)
    if upstream is not None:
        return connect_through(upstream, host, seconds=seconds)
    error: OSError | None = None
    for family, address in addresses:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(seconds)
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


def _check_name(host: str) -> None:
    if is_address(host):
        check_address(host, host)
        return
    # Resolvers take 127.1 and 0x7f000001 for addresses.
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]):
        raise RefusedError(403, f"The proxy connects to names of hosts, not to {host}.")
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")) or "." not in host:
        raise RefusedError(403, f"The proxy connects to public hosts only, not to {host}.")
