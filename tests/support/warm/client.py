"""Run a Python command line in a fork of the warm interpreter of `server.py`; end with its exit code.

`python -IS client.py SOCKET PYTHON PYTHONPATH ARGUMENT...` replaces `PYTHON ARGUMENT...`. PYTHON itself runs
command lines that the warm interpreter does not know, and those with other variables of Python's. Few modules
are imported, so that this process starts quickly.
"""

import marshal
import os
import resource
import signal
import socket
import sys

MODULES = (
    "pulumi.dynamic",
    "pulumi_vertex_training.cli",
    "vertex_emulator",
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
FORWARDED = (signal.SIGINT, signal.SIGTERM)
READY = "--ready-fd"
PROGRAM = "pulumi-language-python-exec"


def main() -> None:
    address, python, path, *arguments = sys.argv[1:]
    plain = [each for each in arguments if each != "-u"]
    known = plain[:1] == ["-m"] and plain[1] in MODULES
    known = known or (bool(plain) and os.path.basename(plain[0]) == PROGRAM)  # noqa: PTH119
    own = {name for name in os.environ if name.startswith("PYTHON")} - HARMLESS
    server = socket.socket(socket.AF_UNIX)
    try:
        known = known and not own and os.environ.get("PYTHONPATH", "") == path
        if known:
            server.connect(address)
    except OSError:  # the warm interpreter has not finished its imports, or another user owns its socket
        known = False
    if not known:
        os.execv(python, [python, *arguments])
    streams = [0, 1, 2]
    if READY in plain:
        streams.append(int(plain[plain.index(READY) + 1]))
    leads = os.getsid(0) == os.getpid()
    limits = [(each, *resource.getrlimit(each)) for each in LIMITS]
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)  # the fork may run before they can be forwarded to it
    with server:
        place = os.getcwd()  # noqa: PTH109
        request = marshal.dumps((arguments, plain, dict(os.environ), place, leads, limits))
        socket.send_fds(server, [len(request).to_bytes(4, "big")], streams)
        server.sendall(request)
        pid = int.from_bytes(server.recv(4), "big")

        def forward(number: int, _frame: object) -> None:
            os.kill(pid, number)

        for number in FORWARDED:
            signal.signal(number, forward)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        for descriptor in streams:
            os.close(descriptor)  # a reader of the output waits for the fork alone
        answer = server.recv(4)
    os._exit(int.from_bytes(answer, "big") if answer else 1)


main()
