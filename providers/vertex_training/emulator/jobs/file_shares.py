"""File shares as folders of this machine: NFS at /mnt/nfs/NAME, Managed Lustre at /mnt/lustre/NAME.

    DATA FOLDER/file-shares/nfs/SERVER/PATH
    DATA FOLDER/file-shares/lustre/INSTANCE_IP/FILESYSTEM

are the same for all replicas and jobs that name the same server and path, so that what one job writes another
one reads, and what is exported below another path is seen through both. A link there to a folder elsewhere is
followed: that is how a user shows jobs data that is there already.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vertex_training.topology.pools import WorkerPoolSpec

FOLDER = "file-shares"
"""In the data folder."""

ROOT = "mnt"
"""Where shares are mounted, below the replica's root."""

KINDS = ("nfs", "lustre")


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share as a replica sees it: `at` is the path without the first slash, `folder` what is there, below
    the folder of all shares. `source` is for people."""

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
    it."""
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

    Raises `OSError`, also for a link into the rest of the emulator's data folder.
    """
    path = data_dir / FOLDER / share.folder
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found, data = path.resolve(), data_dir.resolve()
    if data.is_relative_to(found) or (found.is_relative_to(data) and not found.is_relative_to(data / FOLDER)):
        raise OSError(errno.EPERM, "leads into the emulator's data folder", str(path))
    return found


def _share(kind: str, mount_point: str, server: str, path: str, source: str) -> Share:
    below = [part for part in path.split("/") if part not in ("", ".")]
    return Share(
        kind=kind,
        at=f"{ROOT}/{kind}/{mount_point}",
        folder="/".join([kind, server, *below]),
        source=source,
    )
