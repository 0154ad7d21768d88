"""The few requests to the kernel that make a bridge with replicas on it (rtnetlink, Linux).

Standard library only. A socket belongs to the network namespace in which it was opened, whatever namespace
its process enters later. Source: <linux/rtnetlink.h>, <linux/if_link.h> and <linux/veth.h>.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from ipaddress import IPv4Interface
from types import TracebackType

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _ERROR = 16, 20, 24, 2
_REQUEST, _ACKNOWLEDGE, _EXCLUSIVE, _CREATE = 0x1, 0x4, 0x200, 0x400
_UP = 0x1
_LINK_MTU, _LINK_NAME, _LINK_MASTER, _LINK_INFO, _LINK_NAMESPACE = 4, 3, 10, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_ADDRESS, _LOCAL = 1, 2
_GATEWAY, _DEVICE = 5, 4
_MAIN_TABLE, _STATIC, _UNIVERSE, _UNICAST = 254, 4, 0, 1
_GET_INDEX = 0x8933
_ANSWER = 65_536


class Netlink:
    """A connection to the kernel about the network namespace that this process is in. Raises `OSError`."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
        self._socket.bind((0, 0))
        self._number = 0

    def __enter__(self) -> Netlink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def index(self, name: str) -> int:
        """Return the number of an interface."""
        request = struct.pack("16si20x", name.encode(), 0)
        return int(struct.unpack("16si20x", fcntl.ioctl(self._socket, _GET_INDEX, request))[1])

    def start(self, name: str) -> None:
        """Set an interface up."""
        self._request(_NEW_LINK, 0, _link(up=True) + _text(_LINK_NAME, name))

    def add_bridge(self, name: str, *, mtu: int) -> None:
        """Create a bridge that is up."""
        info = _attribute(_LINK_INFO, _text(_INFO_KIND, "bridge"))
        self._request(
            _NEW_LINK, _NEW, _link(up=True) + _text(_LINK_NAME, name) + _number(_LINK_MTU, mtu) + info
        )

    def add_pair(self, name: str, *, bridge: str, peer: str, namespace: int, mtu: int) -> None:
        """Create a pair of interfaces: one at a bridge and up, its peer in another namespace."""
        other = _link() + _text(_LINK_NAME, peer) + _number(_LINK_MTU, mtu)
        other += _number(_LINK_NAMESPACE, namespace)
        data = _attribute(_INFO_DATA, _attribute(_VETH_PEER, other))
        own = _link(up=True) + _text(_LINK_NAME, name) + _number(_LINK_MTU, mtu)
        own += _number(_LINK_MASTER, self.index(bridge))
        self._request(_NEW_LINK, _NEW, own + _attribute(_LINK_INFO, _text(_INFO_KIND, "veth") + data))

    def add_address(self, name: str, address: IPv4Interface) -> None:
        """Give an interface an address and the route to its network."""
        head = struct.pack("BBBBi", socket.AF_INET, address.network.prefixlen, 0, 0, self.index(name))
        packed = address.ip.packed
        self._request(_NEW_ADDRESS, _NEW, head + _attribute(_LOCAL, packed) + _attribute(_ADDRESS, packed))

    def add_default_route(self, name: str, gateway: str) -> None:
        """Send everything else through an interface to a gateway."""
        kinds = (_MAIN_TABLE, _STATIC, _UNIVERSE, _UNICAST)
        head = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, *kinds, 0)
        body = _attribute(_GATEWAY, socket.inet_aton(gateway)) + _number(_DEVICE, self.index(name))
        self._request(_NEW_ROUTE, _NEW, head + body)

    def _request(self, kind: int, flags: int, body: bytes) -> None:
        self._number += 1
        length = 16 + len(body)
        head = struct.pack("=IHHII", length, kind, flags | _REQUEST | _ACKNOWLEDGE, self._number, 0)
        self._socket.send(head + body)
        answer = self._socket.recv(_ANSWER)
        if struct.unpack_from("=IHHII", answer)[1] == _ERROR:
            number = -struct.unpack_from("=i", answer, 16)[0]
            if number:
                raise OSError(number, os.strerror(number))


_NEW = _CREATE | _EXCLUSIVE


def _link(*, up: bool = False) -> bytes:
    flags = _UP if up else 0
    return struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, flags, flags)


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _number(kind: int, value: int) -> bytes:
    return _attribute(kind, struct.pack("=I", value))
