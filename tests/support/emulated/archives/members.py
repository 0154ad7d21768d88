"""Snapshots of an emulator's state, unpacked, edited and packed by a test."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from support.emulated.emulator import ask
from vertex_emulator.client.control import Control
from vertex_emulator.daemon.daemon import Daemon

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
    answer = ask(daemon, "POST", "/_local/import", data, headers=headers)
    assert answer.status == 400, answer.body
    assert answer.message.startswith("The archive was not imported: ")
    return answer.message


def edited(sql: str) -> Callable[[bytes], bytes]:
    """Return a function that changes the database of a snapshot by SQL."""

    def edit(content: bytes) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.sqlite3"
            path.write_bytes(content)
            with closing(sqlite3.connect(path)) as connection:
                connection.executescript(sql)
            return path.read_bytes()

    return edit


def with_sql(sql: str) -> Edit:
    """Return an edit that changes the database by SQL."""

    def edit(members: Members) -> None:
        members["state.sqlite3"] = edited(sql)(members["state.sqlite3"])

    return edit


def rows(content: bytes) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each table of a snapshot's database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.sqlite3"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names}


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
