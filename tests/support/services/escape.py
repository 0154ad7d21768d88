# ruff: noqa: PTH101, PTH103, PTH108, PTH110, PTH116, PTH208
"""A program that tries to escape from a replica. Run by the tests in replicas; standard library only.

    python escape.py TOKEN SOCKET SUPERVISOR FILE GCS [NAME ...]

TOKEN is a file that only the emulator may read, SOCKET a socket that only the emulator's user may open,
SUPERVISOR the process id of the supervisor, FILE a file of this machine that no replica may change, GCS the
folder of the buckets, with a bucket `b`. Makes all attempts, or those with the given names. Prints a line for
each: its name, then "refused" or "ESCAPED" with the reason.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
OPEN_BY_HANDLE_AT, KEYCTL = (304, 250) if X86 else (265, 219)
PIVOT_ROOT, PERF_EVENT_OPEN, BPF = (155, 298, 321) if X86 else (41, 241, 280)
CHROOT, CLONE3, IO_URING_SETUP, OPENAT2 = (161, 435, 425, 437) if X86 else (51, 435, 425, 437)
NEW_USER, NEW_NS, NEW_PID = 0x10000000, 0x20000, 0x20000000


def called(result: int) -> int:
    """Raise `OSError` for a failed call of the C library."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *values: object) -> int:
    return called(LIBC.syscall(ctypes.c_long(number), *values))


class Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_uint32 * 2))


def open_by_handle(path: str) -> str:
    """Open the root folder (inode 2) of the file system of `path`, as the exploit "shocker" does."""
    folder = os.open(path, os.O_RDONLY)
    handle = Handle(8, 1, (ctypes.c_uint32 * 2)(2, 0))
    found = syscall(OPEN_BY_HANDLE_AT, folder, ctypes.byref(handle), os.O_RDONLY)
    return str(os.listdir(found)[:3])


def mount(source: str, target: str, kind: str, flags: int) -> str:
    options = (ctypes.c_char_p(x.encode()) for x in (source, target, kind))
    called(LIBC.mount(*options, ctypes.c_ulong(flags), None))
    return "mounted"


def remount(path: str) -> str:
    called(LIBC.mount(None, path.encode(), None, ctypes.c_ulong(0x20 | 0x1000), None))
    with Path(f"{path}/escaped").open("w"):
        pass
    os.unlink(f"{path}/escaped")
    return "writable"


def mknod() -> str:
    os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(254, 0))
    os.close(os.open("/tmp/disk", os.O_RDONLY))
    return "opened a disk"


def open_disk() -> str:
    names = [name for name in os.listdir("/dev") if name.startswith(("vd", "sd", "nvme", "mem", "kmsg"))]
    for name in names:
        os.close(os.open(f"/dev/{name}", os.O_RDONLY))
        return f"opened /dev/{name}"
    raise OSError("no such devices")


def opened_for_writing(path: str) -> str:
    """Open for writing, and write nothing: the machine must stay as it is if this works."""
    os.close(os.open(path, os.O_WRONLY))
    return "opened for writing"


def write_below(folder: str) -> str:
    for path, folders, files in os.walk(folder):
        for name in files:
            try:
                os.close(os.open(f"{path}/{name}", os.O_WRONLY))
            except OSError:
                continue
            return f"opened {path}/{name} for writing"
        folders[:] = folders[:40]
    raise OSError("no writable file")


def read(path: str) -> str:
    with Path(path).open("rb") as file:
        return f"read {len(file.read(100))} bytes"


def escape_chroot() -> str:
    os.makedirs("/tmp/below", exist_ok=True)
    syscall(CHROOT, b"/tmp/below")
    for _ in range(50):
        os.chdir("..")
    return str(os.listdir(".")[:3])


def pivot() -> str:
    syscall(PIVOT_ROOT, b".", b".")
    return "pivoted"


def trace(pid: int) -> str:
    called(LIBC.ptrace(ctypes.c_long(0x4206), ctypes.c_long(pid), None, None))
    return f"traces {pid}"


def signal_to(pid: int) -> str:
    os.kill(pid, 0)
    with Path(f"/proc/{pid}/comm").open() as file:
        return f"may kill {file.read().strip()}"


def trace_first() -> str:
    """Trace the first process of the namespace: with the rights of a replica, it is of no use."""
    called(LIBC.ptrace(ctypes.c_long(0x4206), ctypes.c_long(1), None, None))
    status = Path("/proc/1/status").read_text()
    sets = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
    if "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status and not any(int(each, 16) for each in sets):
        raise OSError("it has no more rights")
    return "traces a process with more rights"


def root_of(pid: int) -> str:
    """See the root of another process."""
    found, own = os.stat(f"/proc/{pid}/root/"), os.stat("/")
    if (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino):
        raise OSError("it is the same root")
    return str(os.listdir(f"/proc/{pid}/root/")[:3])


def connect(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
    return "connected"


def any_socket(folder: str) -> str:
    for path, _, files in os.walk(folder):
        for name in files:
            if stat.S_ISSOCK(os.lstat(f"{path}/{name}").st_mode):
                return connect(f"{path}/{name}")
    raise OSError("no sockets")


def namespaces(flags: int) -> str:
    child = os.fork()
    if child == 0:
        os._exit(0 if LIBC.unshare(ctypes.c_int(flags)) == 0 else 1)
    if os.waitpid(child, 0)[1]:
        raise OSError("unshare was refused")
    return "entered"


def namespace_by_clone() -> str:
    number = 56 if X86 else 220
    child = syscall(number, ctypes.c_ulong(NEW_USER | 17), None, None, None, None)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "cloned"


def namespace_by_clone3() -> str:
    arguments = (ctypes.c_uint64 * 8)(NEW_USER, 0, 0, 0, 17, 0, 0, 0)
    child = syscall(CLONE3, arguments, ctypes.c_size_t(64))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "cloned"


def namespace_of(pid: int) -> str:
    end = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    called(LIBC.setns(end, 0))
    return "joined"


def set_user_id(folder: str) -> str:
    """Leave a set-user-id program on the machine."""
    path = f"{folder}/suid"
    with Path(path).open("w"):
        pass
    try:
        os.chmod(path, 0o4755)
        if os.stat(path).st_mode & stat.S_ISUID:
            return "made a set-user-id file"
    finally:
        os.unlink(path)
    raise OSError("the bit was dropped")


def create_set_user_id(folder: str) -> str:
    path = f"{folder}/suid2"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))
    try:
        if os.stat(path).st_mode & stat.S_ISUID:
            return "made a set-user-id file"
    finally:
        os.unlink(path)
    raise OSError("the bit was dropped")


def run_set_user_id() -> str:
    """Run a set-user-id program of the machine: it must not become its owner."""
    for path in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/bin/mount"):
        if os.path.exists(path) and os.stat(path).st_mode & stat.S_ISUID:
            with Path("/proc/self/status").open() as file:
                if "NoNewPrivs:\t1" in file.read():
                    raise OSError("no new privileges")
            return f"{path} gets its owner's rights"
    raise OSError("nothing was found")


def keys() -> str:
    return f"keyring {syscall(KEYCTL, 0, ctypes.c_long(-3), 1)}"


def capabilities() -> str:
    with Path("/proc/self/status").open() as file:
        sets = [line.split() for line in file if line.startswith("Cap")]
    found = [f"{name}{value}" for name, value in sets if int(value, 16)]
    if not found:
        raise OSError("all sets are empty")
    return " ".join(found)


def seccomp() -> str:
    with Path("/proc/self/status").open() as file:
        if "Seccomp:\t2" in file.read():
            raise OSError("filtered")
    return "no filter"


def host_user() -> str:
    """Be the machine's root, or another user of it than `nobody`; an ordinary emulator's user is told."""
    with Path("/proc/self/uid_map").open() as file:
        inside, outside = map(int, file.read().split()[:2])
    own = outside + os.getuid() - inside
    if own == 0:
        return "is root on the machine"
    raise OSError(f"is user {own} on the machine")


def regain_root() -> str:
    os.setuid(0)
    os.setgroups([])
    return "changed groups"


def fork_bomb() -> str:
    """Fork until the limit of the replica refuses it."""
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if not 0 < limit < 5000:
        return f"a limit of {limit} processes"
    ended, held = os.pipe()
    count = 0
    try:
        while count <= limit:
            if os.fork() == 0:
                os.close(held)
                os.read(ended, 1)
                os._exit(0)
            count += 1
    finally:
        os.close(held)
        for _ in range(count):
            os.wait()
    return f"{count} processes"


def set_personality() -> str:
    """Ask for READ_IMPLIES_EXEC, which makes memory executable."""
    return f"before: {syscall(135 if X86 else 92, 0x0400000)}"


def allocate() -> str:
    return f"answer {syscall(239 if X86 else 236, None, None, 0, None, 0)}"


def perf() -> str:
    attributes = (ctypes.c_char * 128)()
    return f"descriptor {syscall(PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)}"


def bpf() -> str:
    attributes = (ctypes.c_uint32 * 32)(1, 4, 4, 1)
    return f"descriptor {syscall(BPF, 0, attributes, 128)}"


def io_uring() -> str:
    return f"descriptor {syscall(IO_URING_SETUP, 1, (ctypes.c_char * 120)())}"


def attempts(
    token: str, listening: str, supervisor: int, file: str, gcs: str
) -> dict[str, Callable[[], str]]:
    """Return all attempts by their names."""
    return {
        "capabilities": capabilities,
        "seccomp": seccomp,
        "host user": host_user,
        "regain root": regain_root,
        "open_by_handle_at of /gcs": lambda: open_by_handle(gcs),
        "open_by_handle_at of /": lambda: open_by_handle("/"),
        "open_by_handle_at of /tmp": lambda: open_by_handle("/tmp"),
        "mount of a tmpfs": lambda: mount("none", "/tmp", "tmpfs", 0),
        "mount of proc": lambda: mount("none", "/tmp", "proc", 0),
        "bind mount": lambda: mount("/", "/tmp", "", 0x1000),
        "remount of /etc": lambda: remount("/etc"),
        "remount of /usr": lambda: remount("/usr"),
        "mknod": mknod,
        "disk": open_disk,
        "core_pattern": lambda: opened_for_writing("/proc/sys/kernel/core_pattern"),
        "sysrq": lambda: opened_for_writing("/proc/sysrq-trigger"),
        "kcore": lambda: read("/proc/kcore"),
        "/proc/sys": lambda: write_below("/proc/sys"),
        "/sys": lambda: write_below("/sys"),
        "chroot": escape_chroot,
        "pivot_root": pivot,
        "ptrace of the supervisor": lambda: trace(supervisor),
        "ptrace of the first process": trace_first,
        "root of the supervisor": lambda: root_of(supervisor),
        "root of the first process": lambda: root_of(1),
        "kill of the supervisor": lambda: signal_to(supervisor),
        "socket": lambda: connect(listening),
        "sockets in /run": lambda: any_socket("/run"),
        "token": lambda: read(token),
        "/etc/shadow": lambda: read("/etc/shadow"),
        "write of a file": lambda: opened_for_writing(file),
        "user namespace": lambda: namespaces(NEW_USER),
        "mount namespace": lambda: namespaces(NEW_NS),
        "process namespace": lambda: namespaces(NEW_PID),
        "user namespace by clone": namespace_by_clone,
        "user namespace by clone3": namespace_by_clone3,
        "namespace of the first process": lambda: namespace_of(1),
        "set-user-id file in /gcs": lambda: set_user_id(f"{gcs}/b"),
        "set-user-id file by open": lambda: create_set_user_id(f"{gcs}/b"),
        "set-user-id program": run_set_user_id,
        "keyctl": keys,
        "perf_event_open": perf,
        "bpf": bpf,
        "io_uring": io_uring,
        "socket to the hypervisor": lambda: str(socket.socket(40, socket.SOCK_STREAM)),
        "personality": set_personality,
        "get_mempolicy": allocate,
        "pidfd_getfd": lambda: f"descriptor {syscall(438, os.pidfd_open(os.getppid()), 1, 0)}",
        "fork bomb": fork_bomb,
    }


def main(token: str, listening: str, supervisor: str, file: str, gcs: str, *names: str) -> None:
    """Make each attempt in a child of its own: what one changes does not matter to the next."""
    for name, attempt in attempts(token, listening, int(supervisor), file, gcs).items():
        if names and name not in names:
            continue
        child = os.fork()
        if child == 0:
            try:
                print(f"{name}: ESCAPED: {attempt()}", flush=True)
            except OSError as error:
                print(f"{name}: refused: {error}", flush=True)
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
