"""The limits of what the packages of a job may unpack to.

An archive is checked before pip installs it, by the sizes in its headers, beyond which nothing is unpacked.
What a build writes is measured while it runs.
"""

from __future__ import annotations

import contextlib
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vertex_emulator.kernel.disk.disk_space import size_text

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most files and bytes. `ratio` bounds an archive of more than `ratio_from` bytes by its own size."""

    files: int
    size: int
    ratio: int = 0
    ratio_from: int = 0


ARCHIVE = Limits(files=100_000, size=8 << 30, ratio=50, ratio_from=100 << 20)
"""For one archive. The largest wheels on PyPI unpack to 20,000 files, 4 GiB and five times their size."""

BUILD = Limits(files=500_000, size=24 << 30)
"""For the folder in which packages are built and installed, with all that they require."""

_HEADERS = frozenset(b"%c" % letter for letter in b"xgXLK")
_MOST_OF_HEADER = 1 << 20
"""The most bytes of a header that is not of a file: a long name, or attributes of other entries."""

_REMEDY = (
    "The emulator does not install it: it could fill the disk. Upload data to a bucket, and let the program "
    "read them below /gcs."
)


class LimitError(Exception):
    """A limit is exceeded; the message says which one, and the remedy."""


def check_archive(archive: Path, name: str, *, limits: Limits = ARCHIVE) -> None:
    """Raise `LimitError` if a wheel or source distribution unpacks to too much; `name` is for the message.

    pip reports an archive that cannot be read. Raises `OSError`.
    """
    packed, files, size = archive.stat().st_size, 0, 0
    most = limits.size
    if limits.ratio:
        most = min(most, max(limits.ratio_from, limits.ratio * packed))
    unreadable = (OSError, tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, ValueError)
    try:
        for each in _sizes(archive, most):
            files, size = files + 1, size + each
            if files > limits.files:
                raise LimitError(
                    f"The package {name} has more than {limits.files:,} files, the most that a package may "
                    f"unpack to. {_REMEDY}"
                )
            if size > most:
                raise LimitError(
                    f"The package {name} has {size_text(packed)} and unpacks to more than {size_text(most)}, "
                    f"the most for a package of its size. {_REMEDY}"
                )
    except unreadable:
        return
    except _LongHeaderError as error:
        raise LimitError(
            f"The package {name} has a name or attributes of {size_text(error.args[0])}; the most is "
            f"{size_text(_MOST_OF_HEADER)}. Build the source distribution again."
        ) from None


class _LongHeaderError(Exception):
    """A header has more than `_MOST_OF_HEADER` bytes."""


class _Entry(tarfile.TarInfo):
    """An entry of an archive. `tarfile` reads some kinds of entries into memory as a whole, such as names."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        entry = super().frombuf(buf, encoding, errors)
        if entry.type in _HEADERS and entry.size > _MOST_OF_HEADER:
            raise _LongHeaderError(entry.size)
        return entry


def _sizes(archive: Path, most: int) -> Iterator[int]:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as packed:
            yield from (each.file_size for each in packed.infolist())
        return
    with tarfile.open(archive, tarinfo=_Entry) as unpacked:
        for member in unpacked:
            yield member.size if member.isfile() else 0
            if member.size > most:
                return


def folder_watch(folder: Path, names: str, *, limits: Limits = BUILD) -> Callable[[], str | None]:
    """Return a function that returns the problem with the size of a folder, or None."""

    def problem() -> str | None:
        files, size = 0, 0
        for below, folders, others in os.walk(folder):
            files += len(folders) + len(others)
            for name in others:
                with contextlib.suppress(OSError):
                    size += os.lstat(f"{below}/{name}").st_blocks * 512
            if files > limits.files or size > limits.size:
                return (
                    f"The installation of the packages {names} was stopped: it wrote more than "
                    f"{limits.files:,} files or {size_text(limits.size)}, the most that the packages of a "
                    "job and their requirements may take. Remove requirements, or upload data to a bucket, "
                    "and let the program read them below /gcs."
                )
        return None

    return problem
