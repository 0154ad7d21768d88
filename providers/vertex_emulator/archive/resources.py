"""Resources of Vertex AI other than custom jobs, and written log entries, in an archive.

resources/KIND/N.json       a resource, its location, and its other records (`vertex.archived`)
resources/KIND/N.jsonl      the parts of the resource, one a line: versions, trials, items; log entries
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from vertex_emulator.archive import documents
from vertex_emulator.archive.tar import ArchiveError, Member, Writer
from vertex_emulator.http.messages import parse_json
from vertex_emulator.rpc.methods import RpcError
from vertex_emulator.vertex.service import Archived, Document, Restored

RESOURCE_NAMES = r"resources/(?P<kind>[a-zA-Z]{1,40})/[0-9]{1,9}\.json(?P<lines>l)?"
FOLDER = "resources"
"""The folder in an archive, and in the staging folder."""

_IN_MEMORY = 1 << 20


def export_resources(archive: Writer, archived: Sequence[Archived]) -> None:
    """Write all resources of all kinds."""
    for kind in archived:
        for number, (document, lines) in enumerate(kind.documents()):
            name = f"{FOLDER}/{kind.folder}/{number}.json"
            text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
            archive.add(name, text.encode())
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
                file.writelines(map(_line, lines))
                size = file.tell()
                file.seek(0)
                if size:
                    archive.add_file(f"{name}l", cast(BinaryIO, file), size)


class ArchivedResources:
    """The checked resources of an archive, which is not trusted. Their lines are files in `staging`."""

    def __init__(self, archived: Sequence[Archived], staging: Path) -> None:
        self._archived = {each.folder: each for each in archived}
        self._folder = staging / FOLDER
        self._found: dict[tuple[str, str], tuple[Restored, Path]] = {}
        self._last: tuple[str, Restored, Path] | None = None
        """The resource that was read last: its member, and the file of its lines."""

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of resources of each kind."""
        counts: Counter[str] = Counter()
        for (folder, _), (restored, _) in self._found.items():
            counts[folder] += restored.count
        return counts

    @property
    def ended(self) -> int:
        """The number of resources that were running when they were exported, and end by the import."""
        return sum(each.ended for each, _ in self._found.values())

    def take(self, member: Member, kind: str, *, is_lines: bool) -> None:
        """Read a resource or its lines. Raises `ArchiveError`."""
        with_lines = self._last is not None and member.name == f"{self._last[0]}l"
        if is_lines and not with_lines:
            raise ArchiveError(f"{member.name} does not follow its resource.")
        if not is_lines:
            self.check()
        try:
            if is_lines:
                self._take_lines(member)
            else:
                self._take_document(member, kind)
        except ArchiveError:
            raise
        except RpcError as error:
            raise ArchiveError(f"{member.name}: {error.message}") from error
        except (ValueError, RecursionError) as error:
            raise ArchiveError(f"{member.name}: {error}.") from error

    def check(self) -> None:
        """Check that the last resource is complete. Raises `ArchiveError`."""
        if self._last is None:
            return
        (name, restored, _), self._last = self._last, None
        try:
            restored.check()
        except ValueError as error:
            raise ArchiveError(f"{name}: {error}.") from error

    def conflicts(self) -> list[str]:
        """Return the resources that the emulator has already."""
        return [each.name for each, _ in self._found.values() if each.exists()]

    def add(self) -> None:
        """Add the resources, inside a transaction."""
        for restored, path in self._found.values():
            restored.add(_lines_of(path))

    def _take_document(self, member: Member, kind: str) -> None:
        if kind not in self._archived:
            raise ArchiveError(f"{member.name}: the kind of resource {kind!r} is unknown.")
        restored = self._archived[kind].restored(documents.read(member))
        if (kind, restored.key) in self._found:
            raise ArchiveError(f"{member.name}: the {restored.name} occurs twice.")
        path = self._folder / f"{len(self._found)}.jsonl"
        self._found[kind, restored.key] = (restored, path)
        self._last = (member.name, restored, path)

    def _take_lines(self, member: Member) -> None:
        if self._last is None or self._last[2].exists():
            raise ArchiveError(f"{member.name} occurs twice.")
        _, restored, path = self._last
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with path.open("wb") as file:
            for line in documents.lines(member, most=documents.MAX_DOCUMENT):
                value = parse_json(line, bounded=False)
                if not isinstance(value, dict):
                    raise ArchiveError(f"{member.name}: a line is not a JSON object.")
                file.write(_line(restored.read_line(value)))


def _line(document: Document) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _lines_of(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open("rb") as file:
            yield from map(json.loads, file)
