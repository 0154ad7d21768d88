"""The data folder of one emulator, and the secrets in it.

data-folder.json    the marker of a folder that is the emulator's (`ownership`), written before all else
emulator.json       0600, the running daemon: url, pid, version, code, ...; the fields of `Record`
token               0600, the bearer token; a start renews it, unless jobs are live at the same port
emulator.lock       held (flock) by the one running daemon
clock.json          the time, where it is not the machine's
start.lock          held (flock) by the process that starts a daemon
emulator.log        the daemon's log; emulator.log.1 is the one before
state.sqlite3       resources and object metadata
state.sqlite3.reserve  space on the disk that deletions may use when it is full
buckets/B/NAME      objects as plain files
objects-aside/      objects whose names no file system can hold, and noncurrent versions
objects-incoming/   unfinished uploads
registry/           blobs of images by digest, and unfinished uploads of them
docker/config.json  0600, the token again, in the form that container tools read
objects-parts/      parts of unfinished multipart uploads
service-account.json  0600, the key for signed URLs, made at the first request for it
proxy/              0700, the key of the proxy's authority; certificates/ in it is what programs trust
jobs/JOB/           per job: specification, logs, exit codes
images/KEY/         unpacked images and layers
venvs/HASH/         requirements of job packages; the packages themselves are in venvs/code/HASH
creations/, deletions/  notes of deployments, also of those to Google Cloud
notifications/      0700, where the ends of runs are reported to, and what commands printed about them
lost/               what a new database did not know, and folders beside the buckets, from before a reset
file-shares/        the content of /mnt/nfs and /mnt/lustre in replicas, by server and path
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from vertex_emulator.kernel import clock
from vertex_emulator.kernel.disk import ownership
from vertex_emulator.kernel.disk.disk_space import disk_space, is_out_of_space
from vertex_emulator.kernel.disk.ownership import DataFolderError as DataFolderError
from vertex_training.timeouts import LOWEST, timeout_scale

ENVIRONMENT_VARIABLE = ownership.VARIABLE

_OUR_URL = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}")


@dataclass(frozen=True, kw_only=True)
class DataFolder:
    """Paths inside one data folder."""

    root: Path

    @property
    def record(self) -> Path:
        return self.root / "emulator.json"

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def token(self) -> Path:
        return self.root / "token"

    @property
    def lock(self) -> Path:
        return self.root / "emulator.lock"

    @property
    def start_lock(self) -> Path:
        return self.root / "start.lock"

    @property
    def clock(self) -> Path:
        return self.root / clock.FILE

    @property
    def log(self) -> Path:
        return self.root / "emulator.log"

    @property
    def database(self) -> Path:
        return self.root / "state.sqlite3"

    @property
    def buckets(self) -> Path:
        return self.root / "buckets"

    @property
    def aside(self) -> Path:
        return self.root / "objects-aside"

    @property
    def incoming(self) -> Path:
        return self.root / "objects-incoming"

    @property
    def registry(self) -> Path:
        return self.root / "registry"

    @property
    def registry_auth(self) -> Path:
        """The value of REGISTRY_AUTH_FILE for container tools."""
        return self.root / "docker" / "config.json"

    @property
    def google_registry_auth(self) -> Path:
        """The same for shells with the proxy, whose programs use Google's host names."""
        return self.root / "docker" / "google" / "config.json"

    @property
    def parts(self) -> Path:
        return self.root / "objects-parts"

    @property
    def service_account(self) -> Path:
        return self.root / "service-account.json"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def lost(self) -> Path:
        return self.root / "lost"

    @property
    def venvs(self) -> Path:
        return self.root / "venvs"


@dataclass(frozen=True, kw_only=True)
class Record:
    """The content of emulator.json, which describes the daemon that wrote it.

    `started` is RFC 3339 in UTC. `code` is the daemon's `code_of_this_process`, or None if
    the daemon is older than that function. `grpc` and `proxy` are host and port; both may take a moment until
    they answer. `timeout_scale` is the scale of the daemon's timeouts.
    """

    url: str
    pid: int
    started: str
    version: str
    instance: str
    code: str | None = None
    grpc: str | None = None
    proxy: str | None = None
    timeout_scale: float = LOWEST


def default_data_dir(environment: Mapping[str, str] | None = None) -> Path:
    """Return VERTEX_TRAINING_DATA_DIR, else vertex-training/emulator in the user's data folder (XDG)."""
    env = os.environ if environment is None else environment
    if chosen := env.get(ENVIRONMENT_VARIABLE):
        return _absolute(Path(chosen))
    # The XDG base directory specification requires that a relative path is ignored.
    xdg = Path(env.get("XDG_DATA_HOME", ""))
    data = xdg if xdg.is_absolute() else Path(env.get("HOME") or Path.home()) / ".local" / "share"
    return (data / "vertex-training" / "emulator").absolute()  # HOME may be relative


def chosen_data_dir(chosen: Path | None) -> Path:
    """Return the chosen folder as an absolute path, or `default_data_dir` if none was chosen."""
    return default_data_dir() if chosen is None else _absolute(chosen)


def _absolute(path: Path) -> Path:
    """Return an absolute path. As in a shell, `~name` stays as it is if there is no such user."""
    with contextlib.suppress(RuntimeError):
        path = path.expanduser()
    return path.absolute()


def prepare(root: Path) -> DataFolder:
    """Make the folder ready for an emulator, and create it if it is missing. Raises `DataFolderError`."""
    folder = DataFolder(root=root)
    try:
        ownership.claim(root)
        for path in (
            folder.buckets,
            folder.aside,
            folder.incoming,
            folder.registry,
            folder.jobs,
            folder.venvs,
        ):
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise unusable(root, error) from error
    return folder


def unusable(path: Path, error: OSError) -> DataFolderError:
    """Return the error for a data folder in which `path` cannot be read or written."""
    if is_out_of_space(error):
        return no_room(path)
    return DataFolderError(
        f"The emulator's data folder cannot be used: {error.strerror or error} ({error.filename or path}). "
        "Free space on its disk or make it writable, or choose another folder with --data-dir or "
        f"{ENVIRONMENT_VARIABLE}."
    )


def no_room(path: Path) -> DataFolderError:
    """Return the error for a full disk under the data folder, or under `path` in it."""
    try:
        space = f": {disk_space(path)}"
    except OSError:
        space = ""
    return DataFolderError(
        f"The disk of the emulator's data folder is full{space} (needed for {path}). Free some megabytes on "
        f"it, choose another folder with --data-dir or {ENVIRONMENT_VARIABLE}, or delete all jobs, buckets "
        "and images of the emulator with: vertex-emulator reset"
    )


def read_token(folder: DataFolder) -> str | None:
    """Return the bearer token, or None if none was made yet."""
    try:
        return folder.token.read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            raise unusable(folder.token, error) from error
        raise DataFolderError(
            f"{folder.token} does not hold a token. Delete the file: the next start makes a new one."
        ) from error


def ensure_token(folder: DataFolder) -> str:
    """Return the bearer token, and make it if it is missing. Only the daemon calls this, under the lock."""
    token = read_token(folder)
    if token is None or folder.token.lstat().st_mode & 0o077:  # a new file, as that one may be a link
        token = token or secrets.token_urlsafe(32)
        write_private(folder.token, token.encode("ascii"))
    return token


def storage_secret(token: str) -> str:
    """Derive the secret that gives access to Cloud Storage only. The token cannot be derived from it."""
    return _derived(token, "storage")


def metadata_secret(token: str) -> str:
    """Derive the secret in the path of the metadata server, which returns `service_token`."""
    return _derived(token, "metadata")


def proxy_secret(token: str) -> str:
    """Derive the password of the proxy, which gives access to no data."""
    return _derived(token, "proxy")


def replica_proxy_secret(token: str) -> str:
    """Derive the password of the proxy for replicas, which cannot use up the owner's connections."""
    return _derived(token, "proxy of replicas")


def service_token(token: str) -> str:
    """Derive the token of replicas, which gives access to Google's services but not to `/_local`."""
    return _derived(token, "services")


def _derived(token: str, use: str) -> str:
    return hmac.new(token.encode(), f"vertex-training emulator: {use}".encode(), hashlib.sha256).hexdigest()[
        :40
    ]


def health_proof(token: str, *, instance: str, nonce: str) -> str:
    """Return the answer to `nonce` that proves that a port is still the emulator's, which knows the token."""
    message = f"vertex-training emulator: health {instance} {nonce}"
    return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()


def read_record(folder: DataFolder) -> Record | None:
    """Read emulator.json. Return None if it is missing or if no daemon can have written it."""
    try:
        value = json.loads(folder.record.read_text(encoding="utf-8"))
        if not _OUR_URL.fullmatch(value["url"]):
            return None
        return Record(
            url=value["url"],
            pid=int(value["pid"]),
            started=str(value["started"]),
            version=str(value["version"]),
            instance=str(value["instance"]),
            code=None if value.get("code") is None else str(value["code"]),
            grpc=_our_address(value.get("grpc")),
            proxy=_our_address(value.get("proxy")),
            timeout_scale=timeout_scale(str(value.get("timeout_scale", LOWEST))),
        )
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None
    except OSError as error:
        raise unusable(folder.record, error) from error


def _our_address(value: object) -> str | None:
    return value if isinstance(value, str) and _OUR_URL.fullmatch(f"http://{value}") else None


def write_record(folder: DataFolder, record: Record) -> None:
    """Replace emulator.json in one step."""
    write_private(folder.record, json.dumps(asdict(record), indent=2).encode("utf-8") + b"\n")


def write_private(path: Path, data: bytes) -> None:
    """Write a file of mode 0600 atomically."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unusable(path, error) from error
