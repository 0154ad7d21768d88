"""File shares as folders of this machine: NFS at /mnt/nfs/NAME, Managed Lustre at /mnt/lustre/NAME.

    DATA FOLDER/file-shares/nfs/SERVER/PATH
    DATA FOLDER/file-shares/lustre/INSTANCE_IP/FILESYSTEM

are the same for all replicas and jobs that name the same server and path, so that what one job writes another
one reads, and what is exported below another path is seen through both. A link there to a folder elsewhere is
followed: that is how a user shows jobs data that is there already. One in a folder that jobs have had mounted
is not: a job may have made it, to have any other folder of this machine mounted, and writable, in the next.
"""

from __future__ import annotations

import errno
import json
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.kernel.trees import remove_tree
from vertex_training.topology.pools import WorkerPoolSpec

FOLDER = "file-shares"
"""In the data folder."""

MOUNTED = "file-shares-mounted"
"""In the data folder: a file with a line for each folder that jobs have had mounted, links resolved."""

ROOT = "mnt"
"""Where shares are mounted, below the replica's root."""

KINDS = ("nfs", "lustre")

_MAX_LINKS = 40


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share as a replica sees it: `at` is the path without the first slash, `folder` what is there, below
    the folder of all shares. `source` is for people.
    """

    kind: str
    at: str
    folder: str
    source: str


def shares_of(pool: WorkerPoolSpec) -> tuple[Share, ...]:
    """What the replicas of a pool have mounted; the pool has been checked (`validation`)."""
    nfs = [
        _share("nfs", mount.mount_point, mount.server, mount.path, f"{mount.server}:{mount.path}")
        for mount in pool.nfs_mounts
    ]
    lustre = [
        _share(
            "lustre",
            mount.mount_point,
            mount.instance_ip,
            mount.filesystem,
            f"the file system {mount.filesystem} of {mount.instance_ip}",
        )
        for mount in pool.lustre_mounts
    ]
    return (*nfs, *lustre)


def all_shares(pools: Sequence[WorkerPoolSpec]) -> tuple[Share, ...]:
    """What the pools of a job have mounted, each share once."""
    return tuple(dict.fromkeys(each for pool in pools if not pool.is_empty for each in shares_of(pool)))


def is_path(text: str) -> bool:
    """Whether a server, a path or a mount point can be part of a folder's path, and does not lead out of
    it.
    """
    parts = text.split("/")
    return "\0" not in text and ".." not in parts and all(len(os_bytes(part)) <= 255 for part in parts)


def is_name(text: str) -> bool:
    """Whether a text can be the name of a folder."""
    return text not in ("", ".", "..") and "/" not in text and is_path(text)


def os_bytes(text: str) -> bytes:
    """As the file system counts a name."""
    return text.encode("utf-8", errors="surrogatepass")


def folder_of(share: Share, data_dir: Path) -> Path:
    """The folder on this machine; made where it is missing, links followed.

    Raises `OSError`, also for a link into the rest of the emulator's data folder, and for one that a job may
    have made.
    """
    mounted = _mounted(data_dir)
    found, data = _made(data_dir.resolve() / FOLDER / share.folder, mounted), data_dir.resolve()
    if data.is_relative_to(found) or (found.is_relative_to(data) and not found.is_relative_to(data / FOLDER)):
        raise OSError(errno.EPERM, "leads into the emulator's data folder", str(found))
    if found not in mounted:
        with (data_dir / MOUNTED).open("a", encoding="utf-8") as file:
            file.write(json.dumps(str(found)) + "\n")
    return found


def remove_all(data_dir: Path) -> None:
    """Remove the shares. Raises `OSError`.

    What links lead to stays, and the links that jobs have made there are still not followed.
    """
    remove_tree(data_dir / FOLDER)
    own = data_dir.resolve() / FOLDER
    left = [path for path in _mounted(data_dir) if not path.is_relative_to(own)]
    text = "".join(json.dumps(str(path)) + "\n" for path in left)
    (data_dir / MOUNTED).write_text(text, encoding="utf-8")


def _mounted(data_dir: Path) -> Collection[Path]:
    try:
        lines = (data_dir / MOUNTED).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return frozenset()
    return frozenset(Path(json.loads(line)) for line in lines)


def _made(path: Path, mounted: Collection[Path]) -> Path:
    """The folder at an absolute path, made where it is missing, without links in its own path."""
    found, left, links = Path("/"), deque(path.parts[1:]), 0
    while left:
        part = left.popleft()
        if part in ("/", ".."):
            found = Path("/") if part == "/" else found.parent
            continue
        below = found / part
        if below.is_symlink():
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, "too many links", str(path))
            if any(each in mounted for each in (found, *found.parents)):
                raise OSError(
                    errno.EPERM,
                    "is a link in a folder that jobs can write to, which is not followed; mount the folder "
                    "that it leads to by a link of its own",
                    str(below),
                )
            left.extendleft(reversed(below.readlink().parts))
        else:
            below.mkdir(mode=0o700, exist_ok=True)
            found = below
    return found


def _share(kind: str, mount_point: str, server: str, path: str, source: str) -> Share:
    below = [part for part in path.split("/") if part not in ("", ".")]
    return Share(
        kind=kind,
        at=f"{ROOT}/{kind}/{mount_point}",
        folder="/".join([kind, server, *below]),
        source=source,
    )
