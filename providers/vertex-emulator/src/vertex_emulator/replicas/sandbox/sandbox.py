"""The view that a replica has of this machine, and the kind of sandbox that works here.

In `namespaces` each replica has a root of its own: read-only views of the host's folders, the buckets at
/gcs, a private /tmp, its host name and its own process ids. Of the emulator's data folder it sees only its
own part. Vertex AI mounts Cloud Storage at /gcs, and programs use that path. If the kernel refuses namespaces
(containers, some distributions), a replica is a plain process without /gcs.

A replica gives up all capabilities, and its system calls are filtered (`privileges`, `seccomp`). If root runs
the emulator, replicas are an unprivileged user of the machine (`idmaps`).
"""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import os
import stat
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from vertex_emulator.kernel.disk.trees import remove_tree
from vertex_emulator.replicas.sandbox.linux import idmaps, privileges
from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux.idmaps import HostUser
from vertex_emulator.replicas.sandbox.mounts import cached_buckets, masks
from vertex_emulator.replicas.sandbox.mounts.file_shares import KINDS, ROOT
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView, mount_image_root, mount_layers

_TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108
_OWN = frozenset({"dev", "gcs", "lost+found", "proc", "run", "tmp"})
_SYSTEM = (Path("/usr"), Path("/etc"))
_PROGRAMS = frozenset(
    {"bin", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "sys", "usr"}
)
"""The folders of a machine that have programs, and not the files of its users."""
_MOUNTS = (ROOT,)

PROFILE = "profile"
"""Name of the file in a replica's folder that login shells of a stand-in read as /etc/profile."""


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """How replicas are started on this machine. `reason` says why nothing better is used, or is empty.

    `host_id` is the user and group of this machine that replicas are; None: the user who runs the emulator,
    who is root with `as_root`. `layers`: overlayfs merges the folders of several unpacked layers.
    """

    kind: Literal["namespaces", "process"]
    user: bool = False
    pids: bool = False
    reason: str = ""
    host_id: int | None = None
    as_root: bool = False
    layers: bool = False

    @property
    def shows_gcs(self) -> bool:
        """True if a replica has /gcs/<bucket>."""
        return self.kind == "namespaces"

    def describe(self) -> str:
        """Return one line for users."""
        if self.kind == "process":
            return f"plain processes without /gcs ({self.reason})"
        apart = "mounts, host name and processes" if self.pids else "mounts and host name"
        who = (
            "as your user" if self.host_id is None else f"as the user {self.host_id}, whom nothing belongs to"
        )
        return f"namespaces with their own {apart}, {who}"

    def rights(self, *, own_root: bool = False) -> str:
        """Return a sentence for the log of a replica: what it may do to this machine.

        `own_root`: its root is an image's own.
        """
        if self.host_id is not None:
            return (
                f"It runs as the user {self.host_id} of this machine, whom no other files belong to, without "
                "capabilities."
            )
        user = "root" if self.as_root else "your user"
        if self.kind == "process":
            return f"WARNING: It runs as {user} of this machine, and can read and change that user's files."
        if own_root:
            text = f"It runs as {user} of this machine, without capabilities."
        else:
            text = f"It runs as {user} of this machine, without capabilities, and can read that user's files."
        return f"WARNING: {text}" if self.as_root else text


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of the machine that one replica sees.

    `folder` is the replica's own: `home`, `work`, `tmp` and the mount point `root` lie in it. `hidden` is the
    emulator's data folder. `visible` are paths to show read-only, even below `hidden` or /tmp. `hosts` is the
    text of /etc/hosts. `image` is the unpacked image, None for a stand-in alone. `shares` are folders by
    their mount points in the replica. `shown` are further folders by their paths in a root of the image's
    own. `resolver` is the text of /etc/resolv.conf, None for the machine's. `system_only`: of the machine's
    folders, only the system's and the `visible` ones are shown. `stale_objects`: an object that another
    replica rewrites looks unchanged.
    """

    folder: Path
    buckets: Path
    hidden: Path
    visible: tuple[Path, ...]
    hostname: str
    hosts: str
    image: ImageView | None = None
    shares: Mapping[str, Path] = field(default_factory=dict)
    shown: Mapping[Path, Path] = field(default_factory=dict)
    resolver: str | None = None
    system_only: bool = False
    stale_objects: bool = False


def make_folders(view: View) -> None:
    """Create the folders of a replica."""
    for name in ("home", "work", "tmp", "var-tmp", "root"):
        (view.folder / name).mkdir(parents=True, exist_ok=True)
    for name, text in (("hosts", view.hosts), ("resolv.conf", view.resolver), (PROFILE, None)):
        replace_file(view.folder / name, text)
    if view.image is not None:  # a restarted replica gets the image's original files
        remove_tree(view.image.scratch)
        view.image.scratch.mkdir()


def replace_file(path: Path, text: str | None) -> None:
    """Replace a file in a replica's folder, where a restarted replica may have put a link."""
    path.unlink(missing_ok=True)
    if text is not None:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)


@functools.cache
def interpreter_paths() -> tuple[Path, ...]:
    """Return the paths that this Python needs: its prefixes and the entries of its module search path."""
    paths = {Path(sys.prefix), Path(sys.base_prefix), Path(os.path.realpath(sys.executable)).parent}
    paths.update(Path(entry) for entry in sys.path if entry)
    return tuple(sorted(path.absolute() for path in paths if path.exists()))


def outermost(paths: Iterable[Path], *, hidden: Path) -> tuple[Path, ...]:
    """Return the paths of a `View` without those that another one shows with it.

    Only folders in between that every user can enter are shown to every replica. A path in the folder that is
    hidden is shown by another one in it alone.
    """
    found: list[str] = []
    for path in sorted(set(map(str, paths))):
        if not any(_shows(each, path, f"{hidden}/") for each in found):
            found.append(path)
    return tuple(map(Path, found))


def _shows(outer: str, path: str, hidden: str) -> bool:
    if not path.startswith(f"{outer}/") or outer.startswith(hidden) != path.startswith(hidden):
        return False
    between = Path(path).parents[: path.removeprefix(outer).count("/")]
    return all(each.stat().st_mode & stat.S_IXOTH for each in between)


def inside_ids(view: View | None) -> tuple[int, int]:
    """Return the user and group that a replica sees as its own."""
    inside = view.image.inside if view is not None and view.image is not None else None
    return inside or (os.geteuid(), os.getegid())


def unshare_namespaces(sandbox: Sandbox, view: View | None = None) -> HostUser | None:
    """Enter new namespaces, in the process that will fork the replica. Raises `OSError`.

    With a `host_id`, return the user whom the replica has yet to become: until then, it has the rights of
    root, to make its mounts.
    """
    if sandbox.kind != "namespaces":
        return None
    own, inside = (os.geteuid(), os.getegid()), inside_ids(view)
    flags = ns.CLONE_NEWNS | ns.CLONE_NEWUTS | ns.CLONE_NEWIPC
    flags |= ns.CLONE_NEWPID if sandbox.pids else 0
    if sandbox.host_id is None:
        ns.unshare(flags | ns.CLONE_NEWUSER)
        ns.map_own_ids(*own, inside=inside)
        with contextlib.suppress(OSError):  # a container shows its settings read-only
            ns.forbid_user_namespaces()
        return None
    if sandbox.user:
        idmaps.unshare_with(flags, sandbox.host_id)
        return HostUser(host_id=sandbox.host_id, inside=inside)
    user = idmaps.host_user(sandbox.host_id, inside, _owned(view) if view is not None else {})
    ns.unshare(flags)
    return user


def apply_view(sandbox: Sandbox, view: View, user: HostUser | None = None) -> list[str]:
    """Apply the view, in the process that becomes the replica. Return lines for its log. Raises `OSError`."""
    if sandbox.kind != "namespaces":
        return []
    root, image = view.folder / "root", view.image
    notes: list[str] = []
    device = cached_buckets.open_device() if view.stale_objects else None  # before the user changes
    ns.mount("none", "/", flags=ns.MS_REC | ns.MS_PRIVATE)
    if user is not None:
        notes += _own(view, user)
    if image is not None and image.own:
        notes += mount_image_root(image, root)
    else:
        ns.bind(root, root)
        _host_folders(root, apart=_MOUNTS if view.shares else (), system_only=view.system_only)
        masks.make_run(root)
        masks.mount_devices(root, accelerators=True)
    with ns.mount_point(root, "proc") as proc:
        if sandbox.pids:
            ns.mount("proc", str(proc), "proc", ns.MS_NOSUID | ns.MS_NODEV | ns.MS_NOEXEC)
        else:
            ns.bind("/proc", str(proc))
    masks.mask(root)
    if image is not None and image.own:
        _fill_image(root, view)
    else:
        notes += _fill_host_folders(root, view, own_user=user is not None)
    if view.resolver is not None:
        masks.replace_resolver(root, view.folder / "resolv.conf", own=image is not None and image.own)
    if device is None:
        ns.bind_at(root, "gcs", view.buckets, writable=True)
    else:
        cached_buckets.mount_at(root, "gcs", view.buckets, device, user.host_id if user is not None else None)
    for at, folder in view.shares.items():
        _mount_share(root, at, folder)
    ns.pivot_root(root)
    return notes


def _fill_image(root: Path, view: View) -> None:
    """Show the job's own folders and files in an image that is the whole root."""
    ns.bind_at(root, "tmp", view.folder / "tmp", writable=True)
    with contextlib.suppress(OSError):  # the image is read-only and lacks the path
        ns.bind_at(root, "etc/hosts", view.folder / "hosts", file=True)
    for path, source in view.shown.items():
        with contextlib.suppress(OSError):  # as above
            ns.bind_at(root, path, source)
    ns.set_hostname(view.hostname)


def _fill_host_folders(root: Path, view: View, *, own_user: bool) -> list[str]:
    """Close, hide and replace folders of a root that is this machine's. Return lines for the log."""
    closed = _close_private_folders(root, view) if own_user else frozenset[Path]()
    notes = mount_layers(view.image, root, apart=own_user) if view.image is not None else []
    _private_temporary_folders(root, view)
    if view.system_only:
        _show_visible(root, view)
    _show_in(closed, root, view)
    _hide_data_folder(root, view)
    if (view.folder / PROFILE).is_file() and (root / "etc/profile").is_file():
        ns.bind_at(root, "etc/profile", view.folder / PROFILE, file=True)
    if (root / "etc/hosts").is_file():
        ns.bind_at(root, "etc/hosts", view.folder / "hosts", file=True, writable=True)
        ns.set_hostname(view.hostname)
    return notes


def _owned(view: View) -> dict[Path, bool]:
    """Return the files that a replica may change, and the programs that it runs.

    True if the emulator made them and may give them away.
    """
    owned = {view.folder: True, view.buckets: True}
    if view.image is not None:
        owned.update(dict.fromkeys(view.image.folders, True))
    for folder in view.shares.values():
        owned[folder] = folder.is_relative_to(view.hidden)
    for path in (*view.visible, *view.shown.values()):
        if not any(each.is_relative_to(path) for each in (*_SYSTEM, view.hidden)):
            owned.setdefault(path, False)
    return owned


def _own(view: View, user: HostUser) -> list[str]:
    """Make the files of a replica its own, and act as its user from here on. Return lines for the log."""
    owner, owned = idmaps.Owner(user=user), _owned(view)
    for path, give in owned.items():
        owner.own(path, give=give)
    privileges.act_as(user.host_id, user.host_id)
    if not owner.given:
        return []
    return [
        f"Emulator: on disk, the files in {', '.join(map(str, owner.given))} belong to the user "
        f"{user.host_id} of this machine now: it has no idmapped mounts there."
    ]


def _close_private_folders(root: Path, view: View) -> Collection[Path]:
    """Hide folders that only the emulator's user can enter, if the replica needs a path below them.

    Return the folders. What the image has in them is shown instead.
    """
    private: set[Path] = set()
    for path in (*_needed(view), view.hidden):
        if any(path.is_relative_to(folder) for folder in _TEMPORARY):
            continue
        closed = (each for each in reversed(path.parents) if not each.stat().st_mode & stat.S_IXOTH)
        private.update(itertools.islice(closed, 1))
    for folder in private:
        with ns.mount_point(root, folder, create=False) as target:
            if target is not None:
                ns.mount("tmpfs", target, "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, "mode=755,size=4m")
    return private


def _needed(view: View) -> list[Path]:
    return [path for path in (*view.visible, view.folder) if not path.is_relative_to(view.hidden)]


def _show_in(closed: Collection[Path], root: Path, view: View) -> None:
    """Show the paths that a replica needs in folders that were hidden."""
    for path in _needed(view):
        above = [each for each in closed if path.is_relative_to(each) and path != each]
        if above and not view.hidden.is_relative_to(path):
            _show(root, path)


def _mount_share(root: Path, at: str, folder: Path) -> None:
    """Mount a share.

    If the image's root is read-only and has no folder for it, /mnt becomes a folder in memory.
    """
    try:
        ns.bind_at(root, at, folder, writable=True)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        with ns.mount_point(root, _MOUNTS[0]) as mounts:
            ns.mount("tmpfs", str(mounts), "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, "mode=755,size=64k")
        ns.bind_at(root, at, folder, writable=True)


def _host_folders(root: Path, *, apart: Collection[str], system_only: bool) -> None:
    """Show the host's root; the folders `apart` are new ones with the host's entries in them.

    `system_only`: show only the folders with programs and their settings.
    """
    for name in apart:
        (root / name).mkdir(exist_ok=True)
        if Path("/", name).is_dir():
            _host_entries(Path("/", name), root / name, leave_out=KINDS)
    others = {each.name for each in Path("/").iterdir()} - _PROGRAMS if system_only else ()
    _host_entries(Path("/"), root, leave_out={*_OWN, *apart, *others})


def _host_entries(folder: Path, shown_in: Path, *, leave_out: Collection[str]) -> None:
    for entry in sorted(folder.iterdir()):
        target = shown_in / entry.name
        if entry.name in leave_out:
            continue
        if entry.is_symlink():
            if not target.is_symlink():
                target.symlink_to(entry.readlink())
            continue
        if entry.is_dir():
            target.mkdir(exist_ok=True)
        elif entry.is_file():
            target.touch()
        else:
            continue
        try:
            ns.bind(entry, target)
        except OSError:  # entries without permission stay empty
            continue
        ns.set_read_only(target)


def _private_temporary_folders(root: Path, view: View) -> None:
    ns.bind_at(root, "tmp", view.folder / "tmp", writable=True)
    with ns.mount_point(root, "var/tmp", create=False) as present:
        if present is not None:
            ns.bind(view.folder / "var-tmp", present)
    for path in view.visible:
        if any(path.is_relative_to(folder) for folder in _TEMPORARY):
            _show(root, path)


def _show_visible(root: Path, view: View) -> None:
    """Show the paths that a replica needs in a root that has only the system's folders."""
    for path in view.visible:
        if path.parts[1] not in _PROGRAMS and not path.is_relative_to(view.hidden):
            _show(root, path)


def _hide_data_folder(root: Path, view: View) -> None:
    with ns.mount_point(root, view.hidden, create=False) as hidden:
        if hidden is not None:
            ns.mount("tmpfs", hidden, "tmpfs", ns.MS_NOSUID | ns.MS_NODEV, "mode=755,size=4m")
    for path in view.visible:
        if path.is_relative_to(view.hidden):
            _show(root, path)
    _show(root, view.folder, writable=True)


def _show(root: Path, path: Path, *, writable: bool = False) -> None:
    ns.bind_at(root, path, path, writable=writable, file=not path.is_dir())
