"""File shares as folders of this machine: NFS at /mnt/nfs/NAME, Managed Lustre at /mnt/lustre/NAME.

    DATA FOLDER/file-shares/nfs/SERVER/PATH
    DATA FOLDER/file-shares/lustre/INSTANCE_IP/FILESYSTEM

All replicas and jobs that name the same server and path share a folder: one job reads the files of another,
and a folder below another exported path is seen through both. A link in `file-shares` to a folder elsewhere
is followed, which lets users show jobs existing data. A link in a folder that jobs have mounted is not
followed: a job may have created it, to mount any other folder of this machine, writable, in the next job.
"""

from __future__ import annotations

import errno
import json
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_training.topology.pools import WorkerPoolSpec

FOLDER = "file-shares"
"""Name of the folder of all shares in the data folder."""

MOUNTED = "file-shares-mounted"
"""Name of a file in the data folder with one line for each folder that jobs have mounted, links resolved."""

ROOT = "mnt"
"""Folder of the mount points, below the replica's root."""

KINDS = ("nfs", "lustre")

_MAX_LINKS = 40


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share as a replica sees it.

    `at` is its path without the first slash. `folder` is its folder below all shares'. `source` names
    it for users.
    """

    kind: str
    at: str
    folder: str
    source: str


def shares_of(pool: WorkerPoolSpec) -> tuple[Share, ...]:
    """Return the shares that the replicas of a pool mount; the pool has been checked (`validation`)."""
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
    """Return the shares that the pools of a job mount, each once."""
    return tuple(dict.fromkeys(each for pool in pools if not pool.is_empty for each in shares_of(pool)))


def is_path(text: str) -> bool:
    """Return whether a server, path or mount point is a valid path that stays within its folder."""
    parts = text.split("/")
    return "\0" not in text and ".." not in parts and all(len(os_bytes(part)) <= 255 for part in parts)


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a folder."""
    return text not in ("", ".", "..") and "/" not in text and is_path(text)


def os_bytes(text: str) -> bytes:
    """Encode a name as the file system counts its length."""
    return text.encode("utf-8", errors="surrogatepass")


def folder_of(share: Share, data_dir: Path) -> Path:
    """Return the folder of a share on this machine; create it if it is missing, follow links.

    Raises `OSError`, also for a link into the rest of the emulator's data folder, and for a link that a job
    may have created.
    """
    mounted = _mounted(data_dir)
    folder, data = _create_folders(data_dir.resolve() / FOLDER / share.folder, mounted), data_dir.resolve()
    if data.is_relative_to(folder) or (
        folder.is_relative_to(data) and not folder.is_relative_to(data / FOLDER)
    ):
        raise OSError(errno.EPERM, "leads into the emulator's data folder", str(folder))
    if folder not in mounted:
        with (data_dir / MOUNTED).open("a", encoding="utf-8") as file:
            file.write(json.dumps(str(folder)) + "\n")
    return folder


def remove_all(data_dir: Path) -> None:
    """Remove the shares. Raises `OSError`.

    The targets of links stay, and links in them that jobs have created are still not followed.
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


def _create_folders(path: Path, mounted: Collection[Path]) -> Path:
    """Return the folder at an absolute path with links resolved; create missing folders."""
    folder, left, links = Path("/"), deque(path.parts[1:]), 0
    while left:
        part = left.popleft()
        if part in ("/", ".."):
            folder = Path("/") if part == "/" else folder.parent
            continue
        below = folder / part
        if below.is_symlink():
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, "too many links", str(path))
            if any(each in mounted for each in (folder, *folder.parents)):
                raise OSError(
                    errno.EPERM,
                    "is a link in a folder that jobs can write to, and such links are not followed; link "
                    "to its target from the folder of shares",
                    str(below),
                )
            left.extendleft(reversed(below.readlink().parts))
        else:
            below.mkdir(mode=0o700, exist_ok=True)
            folder = below
    return folder


def _share(kind: str, mount_point: str, server: str, path: str, source: str) -> Share:
    below = [part for part in path.split("/") if part not in ("", ".")]
    return Share(
        kind=kind,
        at=f"{ROOT}/{kind}/{mount_point}",
        folder="/".join([kind, server, *below]),
        source=source,
    )
