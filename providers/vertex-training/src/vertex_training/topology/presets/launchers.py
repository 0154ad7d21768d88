"""The launchers of frameworks: programs that a container starts with `python3 -c`.

A launcher reads CLUSTER_SPEC, sets the variables of its framework and starts the program that it has as
arguments. It needs nothing in the image except Python 3.6 or newer and the framework. Variables that are set
already win.

The text of a launcher is part of a job, so a change of it reruns the jobs that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PORT_VARIABLE = "LAUNCHER_PORT"
"""The variable that replaces the port of CLUSTER_SPEC."""

_HEAD = """\
import json, os, socket, sys, time

spec = json.loads(os.environ.get("CLUSTER_SPEC") or "{}")
cluster = spec.get("cluster") or {"chief": ["127.0.0.1:2222"]}
task = spec.get("task") or {"type": "chief"}
names = ("workerpool0", "chief", "master"), ("workerpool1", "worker"), ("workerpool2", "ps")
pools = [next((cluster[name] for name in each if name in cluster), []) for each in names]
pool = next(i for i, each in enumerate(names) if task["type"] in each)
index = int(task.get("index") or 0)
trainers = pools[0] + pools[1]
rank, size = pool + index, len(trainers)

def split(address):
    host, port = address.rsplit(":", 1)
    return host, os.environ.get("LAUNCHER_PORT") or port

def address_of(host):
    for _ in range(600):
        try:
            return socket.gethostbyname(host)
        except OSError:
            time.sleep(1)
    sys.exit("no address of " + host)

def give(**variables):
    for name, value in variables.items():
        os.environ.setdefault(name, str(value))

host, port = split(trainers[0])
program = sys.argv[1:]
if program[0].endswith(".py"):
    program.insert(0, "python3")
if program[0] in ("python", "python3"):
    program[0] = sys.executable
"""

_START = "os.execvp(program[0], program)\n"

_SIDE_SERVICE = """
def beside(serve):
    parent = os.getpid()
    if os.fork() == 0:
        threading.Thread(target=serve, daemon=True).start()
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

def await_port(host, port):
    for _ in range(600):
        try:
            return socket.create_connection((host, int(port)), 10).close()
        except OSError:
            time.sleep(0.5)
    sys.exit("nothing listens at %s:%s" % (host, port))
"""
"""Serve in a process of its own that ends soon after the program, and wait for a port that is served."""

_TORCHRUN = """
give(PET_NNODES=size, PET_NODE_RANK=rank, PET_MASTER_ADDR=host, PET_MASTER_PORT=port, PET_NPROC_PER_NODE=1)
launch = [sys.executable, "-m", "torch.distributed.run", "--no_python"]
os.execv(sys.executable, launch + program)
"""

_JAX = """
give(JAX_COORDINATOR_ADDRESS=host + ":" + port, JAX_NUM_PROCESSES=size, JAX_PROCESS_ID=rank)
give(JAX_CPU_COLLECTIVES_IMPLEMENTATION="gloo")
"""

_XGBOOST = (
    "import importlib.util, threading\n"
    + _SIDE_SERVICE
    + """
if importlib.util.find_spec("xgboost") is None:
    sys.exit("the image has no xgboost")

def track():
    from xgboost.tracker import RabitTracker
    tracker = RabitTracker(n_workers=size, host_ip=address_of(host), port=int(port), sortby="task")
    tracker.start()
    tracker.wait_for()

if rank == 0:
    beside(track)
await_port(address_of(host), port)
give(DMLC_TRACKER_URI=address_of(host), DMLC_TRACKER_PORT=port, DMLC_TASK_ID="%04d" % rank)
"""
)

_LIGHTGBM = """
def known(address):  # LightGBM looks for itself among the addresses of interfaces; loopback's is this one
    return "127.0.0.1" if address.startswith("127.") else address

machines = [(known(address_of(one)), at) for one, at in map(split, trainers)]
settings = {
    "machines": ",".join(one + ":" + at for one, at in machines),
    "num_machines": size,
    "local_listen_port": machines[rank][1],
}
give(**{"LIGHTGBM_" + name.upper(): value for name, value in settings.items()})
if os.path.basename(program[0]) == "lightgbm":
    program += [name + "=" + os.environ["LIGHTGBM_" + name.upper()] for name in settings]
"""

_MXNET = """
if pools[1] or pools[2]:
    give(DMLC_ROLE=("scheduler", "worker", "server")[pool])
    give(DMLC_PS_ROOT_URI=address_of(host), DMLC_PS_ROOT_PORT=port)
    give(DMLC_NUM_WORKER=len(pools[1]), DMLC_NUM_SERVER=len(pools[2]))
    if pool == 1:
        give(DMLC_WORKER_ID=index)
"""

_HOROVOD = (
    "import importlib.util, signal, subprocess, threading\n"
    + _SIDE_SERVICE
    + """
if importlib.util.find_spec("horovod") is None:
    sys.exit("the image has no horovod")
slots = int(os.environ.get("HOROVOD_LOCAL_SIZE") or 1)

def meet():
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer
    hosts = parse_hosts(",".join("replica%d:%d" % (i, slots) for i in range(size)))
    server = RendezvousHTTPServer(("0.0.0.0", int(port)), RendezvousHandler, False)
    server.init(get_host_assignments(hosts, size * slots))
    server.serve_forever()

if rank == 0:
    beside(meet)
await_port(address_of(host), port)
give(HOROVOD_GLOO_RENDEZVOUS_ADDR=address_of(host), HOROVOD_GLOO_RENDEZVOUS_PORT=port)
give(HOROVOD_CONTROLLER="gloo", HOROVOD_CPU_OPERATIONS="gloo", HOROVOD_HOSTNAME="replica%d" % rank)
give(HOROVOD_SIZE=size * slots, HOROVOD_LOCAL_SIZE=slots, HOROVOD_CROSS_RANK=rank, HOROVOD_CROSS_SIZE=size)
if address_of(host).startswith("127."):
    give(HOROVOD_GLOO_IFACE="lo")
if slots == 1:
    give(HOROVOD_RANK=rank, HOROVOD_LOCAL_RANK=0)
    os.execvp(program[0], program)
started = []

def end(code, *_):
    for each in started:
        each.terminate()
    sys.exit(code)

signal.signal(signal.SIGTERM, lambda *_: end(143))
for local in range(slots):
    own = dict(os.environ, HOROVOD_RANK=str(rank * slots + local), HOROVOD_LOCAL_RANK=str(local))
    started.append(subprocess.Popen(program, env=own))
while any(each.poll() is None for each in started):
    if any(each.poll() for each in started):
        end(1)
    time.sleep(0.2)
sys.exit(max(abs(each.returncode) for each in started))
"""
)

LAUNCHERS: Mapping[str, str] = MappingProxyType(
    {
        "pytorch": _HEAD + _TORCHRUN,
        "jax": _HEAD + _JAX + _START,
        "xgboost": _HEAD + _XGBOOST + _START,
        "lightgbm": _HEAD + _LIGHTGBM + _START,
        "mxnet": _HEAD + _MXNET + _START,
        "horovod": _HEAD + _HOROVOD,
    }
)
"""The text of each launcher by the name of its framework."""


def command(framework: str) -> tuple[str, ...]:
    """Return the command of a container that runs the program in its `args` with a launcher.

    Raises KeyError for a framework without a launcher.
    """
    return ("python3", "-c", LAUNCHERS[framework])


def launched_by(words: object) -> str | None:
    """Return the framework whose launcher a command is, or None."""
    if not isinstance(words, (list, tuple)):
        return None
    return next((name for name in LAUNCHERS if tuple(words) == command(name)), None)
