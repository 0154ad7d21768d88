"""Download the pinned official release of the Pulumi CLI, and unpack it if its SHA-256 is the known one.

The hashes are in Pulumi's own Homebrew formula for this version, which Pulumi's release writes
(pulumi/homebrew-tap, Formula/pulumi.rb). A configuration of Nix by others has the same four.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import platform
import queue
import re
import shutil
import tarfile
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scripts.report import ChoreError, Step

VERSION = "3.259.0"
"""The version that is downloaded or built, and that the tests run with."""

ADDRESS = "https://get.pulumi.com/releases/sdk"
ADDRESS_VARIABLE = "VERTEX_TRAINING_PULUMI_RELEASES"
"""Environment variable with the address of a mirror. The hashes are still checked."""

ANSWER_SECONDS = 5.0
"""Time limit for a response, after which the machine counts as offline."""

STALL_SECONDS = 30.0
"""Time limit for a download without progress."""

REQUIRED = (
    "pulumi",
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-resource-pulumi-python",
)
POLICIES = "pulumi-analyzer-policy-python"
OPTIONAL = (POLICIES, "pulumi-language-yaml")
_FOLDER = "pulumi"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CHUNK = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Release:
    """A version and the SHA-256 of its archive for each platform, in hexadecimal."""

    version: str
    sha256: Mapping[str, str]

    def archive(self, machine: str) -> str:
        return f"pulumi-v{self.version}-{machine}.tar.gz"


PINNED = Release(
    version=VERSION,
    sha256={
        "linux-x64": "94ba357acac23d01474084c4b00098dc0f7bc70ce13f34c777459254a5f718e5",
        "linux-arm64": "edc8327463a72160bb36cf82cf5062da9c8a244290a706d9980988e7bf486853",
        "darwin-x64": "eaca4c3b8277bfa3ab061fa3b270d1c66358a0b2e613da8c5587a04b7226c534",
        "darwin-arm64": "57c27f179e527e2cf9f62b841a448af72a020e44b2fb4ee0d9bd85556c00c864",
    },
)


class NotObtainedError(ChoreError):
    """The CLI cannot be obtained in this way; another one may work. The text gives the reason in one line."""


def platform_name() -> str:
    """Return the platform in the name of Pulumi's archives, such as `linux-x64`; it may have no archive."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
    processor = platform.machine().lower()
    return f"{platform.system().lower()}-{machine.get(processor, processor)}"


def install(
    into: Path,
    step: Step,
    environ: Mapping[str, str] = os.environ,
    *,
    release: Release = PINNED,
    machine: str = "",
    answer_seconds: float = ANSWER_SECONDS,
) -> None:
    """Download, check and unpack the release into the empty folder `into`. Raises NotObtainedError."""
    machine = machine or platform_name()
    expected = release.sha256.get(machine)
    if expected is None:
        raise NotObtainedError(f"Pulumi has no release for {machine}")
    address = environ.get(ADDRESS_VARIABLE, "") or ADDRESS
    url = f"{address.rstrip('/')}/{release.archive(machine)}"
    step.progress(f"asking for {url}")
    archive = into.parent / release.archive(machine)
    try:
        actual = _download(url, archive, step, answer_seconds)
        if actual != expected:
            raise NotObtainedError(
                f"{url} is not the expected archive and is not used: its SHA-256 is {actual}, not {expected}"
            )
        unpack(archive, into)
    finally:
        archive.unlink(missing_ok=True)


def _download(url: str, target: Path, step: Step, answer_seconds: float) -> str:
    """Fetch a file and return its SHA-256 in hexadecimal."""
    with _open(url, answer_seconds) as response, target.open("wb") as file:
        length = int(response.headers.get("Content-Length") or 0)
        digest, received = hashlib.sha256(), 0
        try:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                received += len(chunk)
                of = f" of {length / 1e6:.0f}" if length else ""
                step.progress(f"downloading {target.name}: {received / 1e6:.0f}{of} MB")
        except (OSError, http.client.HTTPException) as error:
            raise NotObtainedError(
                f"the download of {url} stopped after {received} bytes: {error}"
            ) from error
    if length and received != length:
        raise NotObtainedError(f"the download of {url} stopped after {received} of {length} bytes")
    return digest.hexdigest()


def _open(url: str, answer_seconds: float) -> http.client.HTTPResponse:
    """Request the file. DNS, connection, TLS and response together must finish by the deadline."""
    outcome: queue.Queue[http.client.HTTPResponse | Exception] = queue.Queue()
    given_up = threading.Event()

    def connect() -> None:
        try:
            response = urllib.request.urlopen(url, timeout=STALL_SECONDS)  # noqa: S310 (the user's own choice)
            if given_up.is_set():
                response.close()
            else:
                outcome.put(response)
        except Exception as error:
            outcome.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        answer = outcome.get(timeout=answer_seconds)
    except queue.Empty:
        given_up.set()
        raise NotObtainedError(f"{url} did not respond within {answer_seconds:g} s") from None
    if isinstance(answer, urllib.error.HTTPError):
        with answer:
            raise NotObtainedError(f"{url} returned {answer.code} {answer.reason}")
    if isinstance(answer, urllib.error.URLError):
        raise NotObtainedError(f"{url} cannot be reached: {answer.reason}")
    if isinstance(answer, Exception):
        raise NotObtainedError(f"{url} cannot be downloaded: {answer}")
    return answer


def unpack(archive: Path, into: Path) -> None:
    """Write the programs we need from the archive into a folder.

    Only regular files directly in `pulumi/` are accepted, and only known names are written, so the archive
    cannot choose where to write.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                folder, _, program = member.name.removeprefix("./").rstrip("/").rpartition("/")
                if not (
                    (member.isfile() and folder == _FOLDER and _PLAIN_NAME.fullmatch(program))
                    or (member.isdir() and (folder, program) == ("", _FOLDER))
                ):
                    raise NotObtainedError(
                        f"{archive.name} has an unexpected member {member.name!r}, so it is not used"
                    )
                content = tar.extractfile(member)
                if content and program in (*REQUIRED, *OPTIONAL):
                    _write_program(content, into / program)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise NotObtainedError(f"{archive.name} cannot be unpacked: {error}") from error
    missing = [name for name in REQUIRED if not (into / name).exists()]
    if missing:
        raise NotObtainedError(f"{archive.name} lacks {', '.join(missing)}, so it is not used")


def _write_program(content: IO[bytes], target: Path) -> None:
    with content, target.open("xb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    target.chmod(0o755)
