"""Linux namespaces and mounts that give a replica its own view of the machine, through ctypes.

Standard library only, no side effect on import, importable on every system. All of it is called in a child
between fork and exec, so nothing here may start a thread.

Mount points in a replica's root are found without following a link: the files there are not ours. While the
host's /proc is mounted, an open descriptor has a path.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

_MNT_DETACH = 2
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_MOUNT_ATTR_RDONLY = 0x1
_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_AT_RECURSIVE = 0x8000
_OPEN_TREE_CLONE = 1
_MOVE_FROM_EMPTY_PATH = 0x4
_MOVE_TO_LINK = 0x10
_SYS_OPEN_TREE = 428
_SYS_MOVE_MOUNT = 429
_SYS_MOUNT_SETATTR = 442  # the same on every architecture: system calls added since Linux 5.1 share numbers
_SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}


class _MountAttr(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    """Raise `OSError` with the number of the error if a call of the C library failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Leave the parent's namespaces for new ones, as the system call does. Raises `OSError`."""
    checked(libc().unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def join(namespace: int, kind: int = CLONE_NEWUSER) -> None:
    """Enter a namespace of a kind by its descriptor. Raises `OSError`."""
    checked(libc().setns(ctypes.c_int(namespace), ctypes.c_int(kind)), "setns")


def forbid_user_namespaces() -> None:
    """Let no user namespace be created below this one. Raises `OSError`."""
    Path("/proc/sys/user/max_user_namespaces").write_text("0")


def map_own_ids(uid: int, gid: int, *, inside: tuple[int, int] | None = None) -> None:
    """Keep the user and group in a new user namespace (`unshare(CLONE_NEWUSER)`), or become `inside`."""
    new_uid, new_gid = inside or (uid, gid)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{new_uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{new_gid} {gid} 1")


def mount(source: str | Path, target: str | Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, as the system call does. Raises `OSError` with both paths in its text."""
    result = libc().mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    checked(result, f"mount of {source} at {target}")


def bind(source: str | Path, target: str | Path) -> None:
    """Show `source` and the mounts below it at `target`, which has to exist."""
    mount(source, target, flags=MS_BIND | MS_REC)


def set_read_only(target: str | Path) -> None:
    """Make the mount at `target`, and all below it, read-only (mount_setattr(2), Linux 5.12)."""
    set_mount_attributes(_AT_FDCWD, os.fsencode(target), _AT_RECURSIVE, _MOUNT_ATTR_RDONLY)


def set_mount_attributes(folder: int, path: bytes, flags: int, attributes: int, users: int = 0) -> None:
    """Set attributes of a mount, as mount_setattr(2) does; `users` is a descriptor of a user namespace."""
    given = _MountAttr(attributes, 0, 0, users)
    result = libc().syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(folder),
        ctypes.c_char_p(path),
        ctypes.c_uint(flags),
        ctypes.byref(given),
        ctypes.c_size_t(ctypes.sizeof(given)),
    )
    checked(result, f"mount_setattr of {os.fsdecode(path)}")


def mount_clone(source: str | Path, target: str | Path, attributes: int, users: int = 0) -> None:
    """Show `source` and the mounts below it at `target`, with attributes of mount_setattr(2)."""
    call, here = libc().syscall, ctypes.c_int(_AT_FDCWD)
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE)
    tree = call(ctypes.c_long(_SYS_OPEN_TREE), here, ctypes.c_char_p(os.fsencode(source)), flags)
    checked(0 if tree >= 0 else -1, f"open_tree of {source}")
    try:
        set_mount_attributes(tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, users)
        moved = call(
            ctypes.c_long(_SYS_MOVE_MOUNT),
            ctypes.c_int(tree),
            ctypes.c_char_p(b""),
            here,
            ctypes.c_char_p(os.fsencode(target)),
            ctypes.c_uint(_MOVE_FROM_EMPTY_PATH | _MOVE_TO_LINK),
        )
        checked(moved, f"move_mount to {target}")
    finally:
        os.close(tree)


def pivot_root(new_root: str | Path) -> None:
    """Make `new_root`, a mount point, the root; the old root is out of reach afterwards."""
    number = _SYS_PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(f"pivot_root is not known for the machine type {os.uname().machine}")
    os.chdir(new_root)
    checked(
        libc().syscall(ctypes.c_long(number), ctypes.c_char_p(b"."), ctypes.c_char_p(b".")),
        f"pivot_root to {new_root}",
    )
    checked(libc().umount2(b".", ctypes.c_int(_MNT_DETACH)), "umount of the old root")
    os.chdir("/")


def set_hostname(name: str) -> None:
    """Set the host name of the current UTS namespace."""
    data = name.encode()
    checked(libc().sethostname(ctypes.c_char_p(data), ctypes.c_size_t(len(data))), "sethostname")


def die_with_parent() -> None:
    """Let this process get SIGKILL when the thread that forked it ends (PR_SET_PDEATHSIG).

    The setting survives exec and is lost across fork. No effect off Linux.
    """
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER). No effect off Linux."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Make set-user-id programs run as the caller from here on (PR_SET_NO_NEW_PRIVS). No effect off Linux."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def prctl(option: int, value: int) -> None:
    """Change a setting of this process (prctl(2)). Raises `OSError`. No effect off Linux."""
    if sys.platform != "linux":
        return
    unsigned = ctypes.c_ulong
    result = libc().prctl(ctypes.c_int(option), unsigned(value), unsigned(0), unsigned(0), unsigned(0))
    checked(result, f"prctl({option})")


_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0
_FILE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


@contextlib.contextmanager
def mount_point(
    root: Path, path: str | Path, *, file: bool = False, create: bool = True
) -> Iterator[str | None]:
    """Yield a path that leads to `path` below `root`, whatever is mounted there.

    Creates a missing entry and replaces a link in the last component. With `create=False`, yields None if the
    entry is missing. Raises `OSError`, also for a link in another component.
    """
    descriptor = _open(root, path, file=file, create=create)
    if descriptor is None:
        yield None
        return
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def bind_at(
    root: Path, path: str | Path, source: str | Path, *, writable: bool = False, file: bool = False
) -> None:
    """Show `source` at `path` below `root`. Raises `OSError`."""
    with mount_point(root, path, file=file) as target:
        if writable:
            bind(source, str(target))
        else:
            mount_clone(source, str(target), _MOUNT_ATTR_RDONLY)


def _open(root: Path, path: str | Path, *, file: bool, create: bool) -> int | None:
    *parents, last = [part for part in str(path).split("/") if part not in ("", ".")]
    if ".." in (*parents, last):
        raise OSError(errno.EINVAL, "leads out of the replica's root", str(path))
    descriptor = os.open(root, _FOLDER)
    try:
        for part in parents:
            below = _step(descriptor, part, create=create)
            os.close(descriptor)
            descriptor = below
        if create:
            _make(descriptor, last, file=file)
        return os.open(last, _FILE if file else _FOLDER, dir_fd=descriptor)
    except FileNotFoundError:
        if create:
            raise
        return None
    except NotADirectoryError as error:
        if not create:
            return None
        raise OSError(
            errno.ENOTDIR, "a link or file is in the way in the replica's root", str(path)
        ) from error
    finally:
        os.close(descriptor)


def _step(descriptor: int, part: str, *, create: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=descriptor)
    except FileNotFoundError:
        if not create:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(part, 0o755, dir_fd=descriptor)
    return os.open(part, _FOLDER, dir_fd=descriptor)


def _make(directory: int, name: str, *, file: bool) -> None:
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISLNK(status.st_mode):
        os.unlink(name, dir_fd=directory)
        status = None
    if status is None and file:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=directory))
    elif status is None:
        os.mkdir(name, 0o755, dir_fd=directory)
