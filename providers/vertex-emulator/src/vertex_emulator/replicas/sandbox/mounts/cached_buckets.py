"""Buckets at /gcs whose metadata a replica caches for ever: a small FUSE server of the kernel's protocol.

Cloud Storage FUSE does that on large machines. An object that another replica rewrites looks unchanged here:
the kernel keeps its entry, its attributes and what was read of it. A new name is looked up, and listings are
never cached. What is not in the cache and has been rewritten cannot be read: ESTALE.

The server is a process beside the program. It sees nothing but the buckets, as the replica's user. Source:
include/uapi/linux/fuse.h, version 7.31, and Cloud Storage FUSE's documentation, "Semantics".
"""

from __future__ import annotations

# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH108, PTH115, PTH211 - paths are bytes
import errno
import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from vertex_emulator.replicas.sandbox.linux import namespaces as ns
from vertex_emulator.replicas.sandbox.linux import privileges

DEVICE = Path("/dev/fuse")

_FOR_EVER = 2**31
_LARGEST_WRITE = 1 << 17
_REQUEST = _LARGEST_WRITE + 4096
_ROOT = 1

_IN = struct.Struct("<IIQQIIII")
_OUT = struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
_ENTRY = struct.Struct("<QQQQII")
_ATTR_HEAD = struct.Struct("<QII")
_OPENED = struct.Struct("<QII")
_INIT = struct.Struct("<IIIIHHIIHHI7I")
_SETATTR = struct.Struct("<IIQQQQQQIIIIIIII")
_IO = struct.Struct("<QQIIQII")
_STATFS = struct.Struct("<QQQQQIIII6I")
_KEEP_CACHE = 2

_MODE, _SIZE, _MTIME, _MTIME_NOW = 1, 8, 32, 256


def open_device() -> int:
    """Open the kernel's FUSE device. Raises `OSError` if this user may not."""
    return os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)


def mount_at(root: Path, path: str, buckets: Path, device: int, user: int | None) -> None:
    """Mount the buckets at `path` below `root`, and start the server, as `user` of this machine if given.

    Called in the process that becomes the replica. The server ends with the replica's processes. Raises
    `OSError`.
    """
    options = f"fd={device},rootmode=40000,user_id={os.geteuid()},group_id={os.getegid()},allow_other"
    with ns.mount_point(root, path) as target:
        ns.mount("buckets", str(target), "fuse", ns.MS_NOSUID | ns.MS_NODEV, options)
    child = os.fork()
    if child:
        os.close(device)
        if os.waitpid(child, 0)[1]:
            raise OSError("the server of the buckets did not start")
        return
    try:
        _close_others(device)
        # Before the parent goes on: its own change of the root would move this process with it.
        ns.unshare(ns.CLONE_NEWNS)
        ns.bind(buckets, buckets)
        ns.pivot_root(buckets)
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        privileges.drop()
        os.umask(0)  # a request has the mask of its program
        if os.fork():  # the server is no child of the program
            os._exit(0)
        serve(device)
    finally:
        os._exit(1)


def _close_others(kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - strings, and no import later
        if int(name) != kept:
            try:
                os.close(int(name))
            except OSError:
                continue


def serve(device: int) -> NoReturn:
    """Answer the kernel's requests about the folders below /, until the mount is gone."""
    server = _Server()
    while True:
        try:
            request = os.read(device, _REQUEST)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                continue
            os._exit(0)
        _, code, unique, node, *_ = _IN.unpack_from(request)
        handler = server.handlers.get(code)
        if code in _WITHOUT_ANSWER:
            server.forget(code, node, request[_IN.size :])
            continue
        try:
            answer = handler(node, request[_IN.size :]) if handler is not None else None
            problem = 0 if answer is not None else errno.ENOSYS
        except OSError as error:
            answer, problem = None, error.errno or errno.EIO
        data = answer or b""
        try:
            os.write(device, _OUT.pack(_OUT.size + len(data), -problem, unique) + data)
        except OSError as error:
            if error.errno != errno.ENOENT:  # the program was interrupted
                os._exit(0)


_FORGET, _INTERRUPT, _BATCH_FORGET = 2, 36, 42
_WITHOUT_ANSWER = frozenset({_FORGET, _INTERRUPT, _BATCH_FORGET})


class _Node:
    def __init__(self, path: bytes) -> None:
        self.path = path
        self.lookups = 0
        self.seen: tuple[int, int, int] | None = None


class _Server:
    """The nodes that the kernel knows, and the handlers of its requests by their codes."""

    def __init__(self) -> None:
        self.nodes = {_ROOT: _Node(b"/")}
        self.numbers = {b"/": _ROOT}
        self.next = _ROOT + 1
        self.listings: dict[int, list[tuple[bytes, int, int]]] = {}
        self.handlers: dict[int, Callable[[int, bytes], bytes]] = {
            26: self.init,
            1: self.lookup,
            3: self.get_attributes,
            4: self.set_attributes,
            5: self.read_link,
            6: self.make_link,
            9: self.make_folder,
            10: self.unlink,
            11: self.remove_folder,
            12: self.rename,
            14: self.open,
            15: self.read,
            16: self.write,
            17: self.statfs,
            18: self.release,
            20: lambda *_: b"",  # fsync: only close publishes
            25: lambda *_: b"",  # flush
            27: self.open_folder,
            28: self.read_folder,
            29: self.release_folder,
            30: lambda *_: b"",
            35: self.create,
            45: self.rename2,
        }

    def init(self, _: int, __: bytes) -> bytes:
        return _INIT.pack(7, 31, 1 << 17, 1 << 5, 16, 12, _LARGEST_WRITE, 1, 0, 0, 0, *[0] * 7)

    def forget(self, code: int, node: int, body: bytes) -> None:
        if code == _FORGET:
            self._forget(node, struct.unpack_from("<Q", body)[0])
        elif code == _BATCH_FORGET:
            (count,) = struct.unpack_from("<I", body)
            for index in range(count):
                self._forget(*struct.unpack_from("<QQ", body, 8 + 16 * index))

    def _forget(self, number: int, times: int) -> None:
        node = self.nodes.get(number)
        if node is None or number == _ROOT:
            return
        node.lookups -= times
        if node.lookups <= 0:
            del self.nodes[number]
            if self.numbers.get(node.path) == number:
                del self.numbers[node.path]

    def _path(self, parent: int, name: bytes) -> bytes:
        return self.nodes[parent].path.rstrip(b"/") + b"/" + name

    def _entry(self, path: bytes) -> bytes:
        status = os.lstat(path)
        number = self.numbers.get(path)
        if number is None or self._is_another(number, status):
            number, self.next = self.next, self.next + 1
            self.nodes[number] = _Node(path)
            self.numbers[path] = number
        node = self.nodes[number]
        node.lookups += 1
        node.seen = _seen(status)
        return _ENTRY.pack(number, 0, _FOR_EVER, _FOR_EVER, 0, 0) + _attributes(status)

    def _is_another(self, number: int, status: os.stat_result) -> bool:
        seen = self.nodes[number].seen
        return seen is not None and seen[0] != status.st_ino

    def lookup(self, node: int, body: bytes) -> bytes:
        return self._entry(self._path(node, _text(body)))

    def get_attributes(self, node: int, _: bytes) -> bytes:
        status = os.lstat(self.nodes[node].path)
        return _ATTR_HEAD.pack(_FOR_EVER, 0, 0) + _attributes(status)

    def set_attributes(self, node: int, body: bytes) -> bytes:
        valid, _, _, size, _, atime, mtime, _, an, mn, _, mode, *_ = _SETATTR.unpack_from(body)
        path = self.nodes[node].path
        if valid & _SIZE:
            os.truncate(path, size)
        if valid & _MODE:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & _MTIME and not valid & _MTIME_NOW:
            os.utime(path, ns=(atime * 10**9 + an, mtime * 10**9 + mn), follow_symlinks=False)
        elif valid & _MTIME_NOW:
            os.utime(path, follow_symlinks=False)
        status = os.lstat(path)
        self.nodes[node].seen = _seen(status)
        return _ATTR_HEAD.pack(_FOR_EVER, 0, 0) + _attributes(status)

    def read_link(self, node: int, _: bytes) -> bytes:
        return os.readlink(self.nodes[node].path)

    def make_link(self, node: int, body: bytes) -> bytes:
        name, target = body.split(b"\0")[:2]
        path = self._path(node, name)
        os.symlink(target, path)
        return self._entry(path)

    def make_folder(self, node: int, body: bytes) -> bytes:
        mode, mask = struct.unpack_from("<II", body)
        path = self._path(node, _text(body[8:]))
        os.mkdir(path, mode & ~mask)
        return self._entry(path)

    def unlink(self, node: int, body: bytes) -> bytes:
        os.unlink(self._path(node, _text(body)))
        return b""

    def remove_folder(self, node: int, body: bytes) -> bytes:
        os.rmdir(self._path(node, _text(body)))
        return b""

    def rename(self, node: int, body: bytes) -> bytes:
        (to,) = struct.unpack_from("<Q", body)
        return self._rename(node, to, body[8:])

    def rename2(self, node: int, body: bytes) -> bytes:
        to, flags = struct.unpack_from("<QI", body)
        if flags:
            raise OSError(errno.EINVAL, "flags of a rename")
        return self._rename(node, to, body[16:])

    def _rename(self, node: int, to: int, names: bytes) -> bytes:
        old, new = names.split(b"\0")[:2]
        source, target = self._path(node, old), self._path(to, new)
        os.rename(source, target)
        moved = [path for path in self.numbers if path == source or path.startswith(source + b"/")]
        for path in moved:
            number = self.numbers.pop(path)
            self.nodes[number].path = target + path[len(source) :]
            self.numbers[self.nodes[number].path] = number
        return b""

    def open(self, node: int, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        kept = flags & os.O_ACCMODE  # the kernel gives the offset, also of what is appended
        return _OPENED.pack(os.open(self.nodes[node].path, kept | _SAFELY), _KEEP_CACHE, 0)

    def create(self, node: int, body: bytes) -> bytes:
        flags, mode, mask, _ = struct.unpack_from("<IIII", body)
        path = self._path(node, _text(body[16:]))
        opened = os.open(path, flags & (os.O_ACCMODE | os.O_EXCL) | os.O_CREAT | _SAFELY, mode & ~mask)
        return self._entry(path) + _OPENED.pack(opened, _KEEP_CACHE, 0)

    def read(self, node: int, body: bytes) -> bytes:
        handle, offset, size, *_ = _IO.unpack_from(body)
        if _seen(os.fstat(handle)) != self.nodes[node].seen:
            raise OSError(errno.ESTALE, "the object was rewritten")
        return os.pread(handle, size, offset)

    def write(self, node: int, body: bytes) -> bytes:
        handle, offset, size, *_ = _IO.unpack_from(body)
        written = os.pwrite(handle, body[_IO.size : _IO.size + size], offset)
        self.nodes[node].seen = _seen(os.fstat(handle))
        return struct.pack("<II", written, 0)

    def release(self, _: int, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""

    def open_folder(self, node: int, _: bytes) -> bytes:
        found = [(b".", 0, stat.S_IFDIR), (b"..", 0, stat.S_IFDIR)]
        with os.scandir(self.nodes[node].path) as entries:
            found += [(each.name, each.inode(), _kind(each)) for each in entries]
        handle = self.next
        self.next += 1
        self.listings[handle] = found
        return _OPENED.pack(handle, 0, 0)

    def read_folder(self, _: int, body: bytes) -> bytes:
        handle, offset, size, *_rest = _IO.unpack_from(body)
        answer = b""
        for index, (name, number, kind) in enumerate(self.listings[handle][offset:], start=offset + 1):
            entry = struct.pack("<QQII", number or 1, index, len(name), kind >> 12) + name
            entry += b"\0" * (-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return answer

    def release_folder(self, _: int, body: bytes) -> bytes:
        self.listings.pop(struct.unpack_from("<Q", body)[0], None)
        return b""

    def statfs(self, _: int, __: bytes) -> bytes:
        found = os.statvfs(b"/")
        return _STATFS.pack(
            *(found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree),
            *(found.f_bsize, found.f_namemax, found.f_frsize, 0),
            *[0] * 6,
        )


_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def _seen(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mtime_ns, status.st_size


def _text(body: bytes) -> bytes:
    return body.partition(b"\0")[0]


def _kind(entry: os.DirEntry[bytes]) -> int:
    if entry.is_symlink():
        return stat.S_IFLNK
    return stat.S_IFDIR if entry.is_dir(follow_symlinks=False) else stat.S_IFREG


def _attributes(status: os.stat_result) -> bytes:
    seconds = [divmod(each, 10**9) for each in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
    return _ATTRIBUTES.pack(
        *(status.st_ino, status.st_size, status.st_blocks),
        *(each[0] for each in seconds),
        *(each[1] for each in seconds),
        *(status.st_mode, status.st_nlink, status.st_uid, status.st_gid, 0, 4096, 0),
    )
