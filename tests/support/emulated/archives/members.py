"""Archives of an emulator's state, unpacked, edited and packed by a test."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.emulated.emulator import call
from vertex_emulator.control import Control
from vertex_emulator.daemon import Daemon

Members = dict[str, bytes]
Edit = Callable[[Members], None]


def control(daemon: Daemon) -> Control:
    return Control(url=daemon.url, token=daemon.token)


def unpacked(archive: Path) -> Members:
    with tarfile.open(archive) as tar:
        return {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]


def packed(members: Members) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def send(daemon: Daemon, data: bytes) -> str:
    """Send an archive that the emulator refuses. Return the error message."""
    headers = {"Content-Type": "application/x-tar"}
    answer = call(daemon.url, "POST", "/_local/import", body=data, token=daemon.token, headers=headers)
    assert answer.status == 400, answer.body
    assert answer.message.startswith("The archive was not imported: ")
    return answer.message


def changed(name: str, /, **values: Any) -> Edit:
    """Return an edit that changes values in a member's JSON."""

    def edit(members: Members) -> None:
        members[name] = json.dumps({**json.loads(members[name]), **values}).encode()

    return edit


def with_member(name: str, data: bytes = b"{}") -> Edit:
    return lambda members: members.update({name: data})


def without(name: str) -> Edit:
    def edit(members: Members) -> None:
        del members[name]

    return edit
