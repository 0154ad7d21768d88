"""Run a Python command line in a fork of the warm interpreter of `server.py`; end with its exit code.

`python -IS client.py SOCKET PYTHON PYTHONPATH ARGUMENT...` replaces `PYTHON ARGUMENT...`. PYTHON itself runs
command lines that the warm interpreter does not know, and those with other variables of Python's. It imports
modules in C alone: `os`, `signal` and `socket` take as long as the start of this process.
"""

import _signal
import _socket
import marshal
import posix
import resource
import sys

MODULES = (
    "pulumi.dynamic",
    "pulumi_vertex_training.cli",
    "pulumi_vertex_training.package",
    "vertex_emulator",
    "vertex_emulator.command",
    "vertex_emulator.replicas.sandbox.probe",
    "vertex_emulator.replicas.supervisor.fork_server",
)
HARMLESS = {
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONSAFEPATH",
}
LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_NPROC)
FORWARDED = (_signal.SIGINT, _signal.SIGTERM)
READY = "--ready-fd"
PROGRAMS = ("pulumi-language-python-exec", "emulator_that_dies.py")


def main() -> None:
    address, python, path, *arguments = sys.argv[1:]
    plain = [each for each in arguments if each != "-u"]
    known = plain[:1] == ["-m"] and plain[1] in MODULES
    known = known or (bool(plain) and plain[0].rpartition("/")[2] in PROGRAMS)
    environment = {_text(name): _text(value) for name, value in posix.environ.items()}
    own = {name for name in environment if name.startswith("PYTHON")} - HARMLESS
    server = _socket.socket(_socket.AF_UNIX)
    try:
        known = known and not own and environment.get("PYTHONPATH", "") == path
        if known:
            server.connect(address)
    except OSError:  # the warm interpreter has not finished its imports, or another user owns its socket
        known = False
    if not known:
        posix.execv(python, [python, *arguments])
    streams = [0, 1, 2]
    if READY in plain:
        streams.append(int(plain[plain.index(READY) + 1]))
    leads = posix.getsid(0) == posix.getpid()
    limits = [(each, *resource.getrlimit(each)) for each in LIMITS]
    _signal.pthread_sigmask(
        _signal.SIG_BLOCK, FORWARDED
    )  # the fork may run before they can be forwarded to it
    request = marshal.dumps((arguments, plain, environment, posix.getcwd(), leads, limits))
    rights = b"".join(each.to_bytes(4, sys.byteorder) for each in streams)
    server.sendmsg([len(request).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    server.sendall(request)
    pid = int.from_bytes(server.recv(4), "big")

    def forward(number: int, _frame: object) -> None:
        posix.kill(pid, number)

    for number in FORWARDED:
        _signal.signal(number, forward)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, FORWARDED)
    for descriptor in streams:
        posix.close(descriptor)  # a reader of the output waits for the fork alone
    answer = server.recv(4)
    posix._exit(int.from_bytes(answer, "big") if answer else 1)


def _text(value: bytes) -> str:
    """Return a variable's name or value as `os.environ` has it."""
    return value.decode(sys.getfilesystemencoding(), "surrogateescape")


main()
