"""User namespaces and idmapped mounts that make the replicas of root an unprivileged user of the machine.

The emulator's files belong to root. A replica is user `host_id`, who owns nothing. In an idmapped mount
(Linux 5.12; 5.19 below overlayfs) root's files appear as the replica's, and files that the
replica creates are root's on disk. Where the file system refuses that, the files are given to `host_id`.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vertex_emulator.replicas.sandbox.linux import namespaces as ns

_MOUNT_ATTR_IDMAP = 0x100000
_PR_SET_DUMPABLE = 4

FIRST_HOST_ID = 200_000
_SUBORDINATE = (Path("/etc/subuid"), Path("/etc/subgid"))
_OVERFLOW = 65_534


def unused_id() -> int | None:
    """Return an unprivileged id that no user of this machine has; None if there is no such id."""
    import grp
    import pwd

    own = _ranges(Path("/proc/self/uid_map").read_text()) + _ranges(Path("/proc/self/gid_map").read_text())
    taken = [(each.pw_uid, 1) for each in pwd.getpwall()] + [(each.gr_gid, 1) for each in grp.getgrall()]
    for path in _SUBORDINATE:
        with contextlib.suppress(OSError, ValueError):
            for line in path.read_text().splitlines():
                if line.count(":") == 2:
                    _, first, count = line.split(":")
                    taken.append((int(first), int(count)))

    def is_free(wanted: int) -> bool:
        known = sum(first <= wanted < first + count for first, count in own) >= 2
        return known and not any(first <= wanted < first + count for first, count in taken)

    candidates = [
        FIRST_HOST_ID,
        *sorted(first + count for first, count in taken if first + count > FIRST_HOST_ID),
    ]
    highest = min((first + count - 1 for first, count in own), default=0)
    candidates += range(min(highest, _OVERFLOW - 1), 1000, -1)[:1000]
    return next((each for each in candidates if each >= 1000 and is_free(each)), None)


def _ranges(text: str) -> list[tuple[int, int]]:
    """Return first id and count of the lines of a uid_map, as this process names the ids."""
    return [(int(line.split()[0]), int(line.split()[2])) for line in text.splitlines()]


def user_namespace(inside: tuple[int, int], outside: tuple[int, int], *, nested: bool = True) -> int:
    """Create a user namespace with one user and one group. Return a descriptor of it. Raises `OSError`.

    The caller needs CAP_SETUID and CAP_SETGID. With `nested=False`, no namespace can be created below it.
    """
    ready_r, ready_w = os.pipe()
    go_r, go_w = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ns.unshare(ns.CLONE_NEWUSER)
            os.write(ready_w, b"-")
            os.read(go_r, 1)
            if not nested:
                ns.forbid_user_namespaces()
        finally:
            os._exit(0)
    try:
        os.close(ready_w)
        if not os.read(ready_r, 1):
            raise OSError("this machine does not allow user namespaces")
        Path(f"/proc/{child}/uid_map").write_text(f"{inside[0]} {outside[0]} 1")
        Path(f"/proc/{child}/gid_map").write_text(f"{inside[1]} {outside[1]} 1")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.write(go_w, b"-")
        for end in (ready_r, go_r, go_w):
            os.close(end)
        os.waitpid(child, 0)


@dataclass(frozen=True, kw_only=True)
class HostUser:
    """The user and group `host_id` of this machine, whom a replica becomes.

    `inside` is the user and group that the replica sees instead. `program` is a descriptor of its user
    namespace; None: it creates that itself. `owners` has a namespace for each user and group that owns files
    of the replica, or nothing where a root without CAP_SYS_ADMIN cannot use them.
    """

    host_id: int
    inside: tuple[int, int]
    program: int | None = None
    owners: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def become(self) -> None:
        """Become the user, in the process that is about to execute the program. Raises `OSError`."""
        os.setgroups([])
        if self.program is not None:
            ns.join(self.program)
            return
        os.setresgid(self.host_id, self.host_id, self.host_id)
        os.setresuid(self.host_id, self.host_id, self.host_id)
        ns.prctl(_PR_SET_DUMPABLE, 1)  # else its files in /proc belong to root
        ns.unshare(ns.CLONE_NEWUSER)
        ns.map_own_ids(self.host_id, self.host_id, inside=self.inside)


def host_user(host_id: int, inside: tuple[int, int], folders: Mapping[Path, bool]) -> HostUser:
    """Create the user namespaces of a replica, which needs these folders. Raises `OSError`.

    Call it before entering a process namespace: the ids of helper processes are looked up in /proc.
    """
    host = (host_id, host_id)
    wanted = {_owner(path) for path, writable in folders.items() if writable}
    users = {user for user, _ in wanted}
    wanted |= {owner for owner in map(_owner, folders) if owner[0] not in users}
    program = user_namespace(inside, host, nested=False)
    owners = {each: user_namespace(each, host) if each != inside else program for each in wanted - {host}}
    return HostUser(host_id=host_id, inside=inside, program=program, owners=owners)


def _owner(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_uid, status.st_gid


def unshare_with(flags: int, host_id: int) -> None:
    """Enter new namespaces, one of users among them, in which root and `host_id` keep their ids.

    For a root that has CAP_SETUID and CAP_SETGID without CAP_SYS_ADMIN. Raises `OSError`.
    """
    go_r, go_w = os.pipe()
    caller = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            os.close(go_w)
            if os.read(go_r, 1):
                for kind in ("uid_map", "gid_map"):
                    Path(f"/proc/{caller}/{kind}").write_text(f"0 0 1\n{host_id} {host_id} 1")
                os._exit(0)
        finally:
            os._exit(1)
    try:
        os.close(go_r)
        ns.unshare(flags | ns.CLONE_NEWUSER)
        os.write(go_w, b"-")
    finally:
        os.close(go_w)
        status = os.waitpid(child, 0)[1]
    if status != 0:
        raise OSError("this machine does not let root map other users")


@dataclass(kw_only=True)
class Owner:
    """Makes a replica the owner of folders, in this mount namespace alone: each becomes an idmapped mount.

    `given` are the folders whose file system does not have such mounts: their files now belong to the user.
    """

    user: HostUser
    given: list[Path] = field(default_factory=list)
    _mapped: list[Path] = field(default_factory=list)

    def own(self, path: Path, *, give: bool) -> None:
        """Let a folder or file be the replica's, with all below it. Raises `OSError`.

        If the file system has no idmapped mounts, give the files themselves away with `give`.
        """
        if any(path.is_relative_to(done) for done in self._mapped):
            return
        self._mapped.append(path)
        owner = _owner(path)
        if owner[0] == self.user.host_id:
            return
        users = [end for each, end in self.user.owners.items() if each[0] == owner[0]]
        try:
            if not users:
                raise OSError("no namespace for such mounts")
            ns.mount_clone(path, path, _MOUNT_ATTR_IDMAP, self.user.owners.get(owner, users[0]))
        except OSError:
            if give:
                self.given.append(path)
                give_away(path, self.user.host_id)


def give_away(path: Path, owner: int) -> None:
    """Make a user and group the owner of a folder and all below it, without following links.

    Also let them change the files that the emulator creates there later, where the file system has access
    control lists.
    """
    access = _access_list(owner)
    for _, _, names, descriptor in os.fwalk(path, follow_symlinks=False):
        with contextlib.suppress(OSError):
            os.setxattr(descriptor, "system.posix_acl_default", access)
        for name in (*names, "."):
            with contextlib.suppress(OSError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                # Another name of a file may lie in a folder that is not given away.
                if status.st_uid != owner and (name == "." or status.st_nlink == 1):
                    os.chown(name, owner, owner, dir_fd=descriptor, follow_symlinks=False)


def _access_list(user: int) -> bytes:
    """Return an access control list in which a user may do everything; see <linux/posix_acl_xattr.h>."""
    undefined = 2**32 - 1
    entries = (
        (0x01, 7, undefined),
        (0x02, 7, user),
        (0x04, 5, undefined),
        (0x10, 7, undefined),
        (0x20, 5, undefined),
    )
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
