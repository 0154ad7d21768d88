"""The preset of each framework: image, launcher, variables and port, and which pools take part.

Sources: the frameworks' documentation on distributed training, runs of each framework on the emulator, and
for images the catalog of prebuilt ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vertex_training.topology.presets.launchers import LAUNCHERS, PORT_VARIABLE
from vertex_training.topology.roles import CHIEF, SERVERS, WORKERS

_TRAINERS = (CHIEF, WORKERS)
_CLUSTER_PORT = f"that of CLUSTER_SPEC (2222 on Google Cloud); {PORT_VARIABLE} replaces it"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """The choices for one framework.

    `images` has the name of the prebuilt image by device (cpu, gpu, tpu), empty if Google has none. `roles`
    says what each pool does, by position. `pools` are the positions whose programs the launcher starts.
    `processes` is the variable with the number of processes on each machine, None if a machine has one.
    `variables` are those that a program finds, with their meaning. `program` says what the program calls.
    """

    name: str
    images: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[int, str]
    pools: tuple[int, ...] = ()
    processes: str | None = None
    port: str = _CLUSTER_PORT
    variables: Mapping[str, str]
    program: str

    @property
    def has_launcher(self) -> bool:
        """True if a launcher starts the program."""
        return self.name in LAUNCHERS

    @property
    def launcher(self) -> str:
        """Describe the launcher in words."""
        if not self.has_launcher:
            return "none: the program starts as it is"
        starts = "torchrun" if self.name == "pytorch" else "the program"
        return f"python3 -c TEXT, which reads CLUSTER_SPEC, sets the variables and starts {starts}"


_TF_CONFIG = {"TF_CONFIG": "cluster and task, set by Vertex AI itself in jobs of several replicas"}
_TF_IMAGES = {"cpu": "tf-cpu.2-17.py310", "gpu": "tf-gpu.2-17.py310", "tpu": "tf-tpu.2-15.cp310"}
_TF_ROLES = {
    0: "chief",
    1: "workers",
    2: "parameter servers of ParameterServerStrategy, or reduction servers",
    3: "evaluator",
}
_TRAINER_ROLES = {0: "rank 0", 1: "ranks 1, 2, ..."}
_TF_PORT = "that of CLUSTER_SPEC (2222 on Google Cloud), which TF_CONFIG has as well"

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        each.name: each
        for each in (
            Preset(
                name="tensorflow",
                images=_TF_IMAGES,
                roles=_TF_ROLES,
                port=_TF_PORT,
                variables=_TF_CONFIG,
                program="tf.distribute.MultiWorkerMirroredStrategy(), or ParameterServerStrategy with "
                "TFConfigClusterResolver()",
            ),
            Preset(
                name="pytorch",
                images={
                    "cpu": "pytorch-gpu.2-4.py310",
                    "gpu": "pytorch-gpu.2-4.py310",
                    "tpu": "pytorch-xla.2-4.py310",
                },
                roles={**_TRAINER_ROLES, 2: "reduction servers"},
                pools=_TRAINERS,
                processes="PET_NPROC_PER_NODE",
                variables={
                    "PET_NNODES": "number of machines, for torchrun",
                    "PET_NODE_RANK": "number of this machine",
                    "PET_MASTER_ADDR": "host of the chief",
                    "PET_MASTER_PORT": "port of the chief",
                    "PET_NPROC_PER_NODE": "processes on each machine, one for each accelerator",
                },
                program="torch.distributed.init_process_group(); torchrun sets RANK, LOCAL_RANK, WORLD_SIZE",
            ),
            Preset(
                name="jax",
                roles=_TRAINER_ROLES,
                pools=_TRAINERS,
                variables={
                    "JAX_COORDINATOR_ADDRESS": "host:port of the chief",
                    "JAX_NUM_PROCESSES": "number of chief and workers",
                    "JAX_PROCESS_ID": "number of this one",
                    "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo, for machines without accelerators",
                },
                program="jax.distributed.initialize(ADDRESS, NUM_PROCESSES, PROCESS_ID)",
            ),
            Preset(
                name="xgboost",
                images={"cpu": "xgboost-cpu.2-1", "gpu": "xgboost-gpu.2-1"},
                roles={0: "rank 0, and the tracker", 1: "ranks 1, 2, ..."},
                pools=_TRAINERS,
                variables={
                    "DMLC_TRACKER_URI": "address of the tracker, which the launcher runs on the chief",
                    "DMLC_TRACKER_PORT": "port of the tracker",
                    "DMLC_TASK_ID": "number of this replica, with leading zeros",
                },
                program="xgboost.collective.CommunicatorContext(dmlc_tracker_uri=URI, "
                "dmlc_tracker_port=int(PORT), dmlc_task_id=TASK_ID)",
            ),
            Preset(
                name="lightgbm",
                roles={0: "machine 0", 1: "machines 1, 2, ..."},
                pools=_TRAINERS,
                variables={
                    "LIGHTGBM_MACHINES": "ADDRESS:PORT of each machine",
                    "LIGHTGBM_NUM_MACHINES": "number of machines",
                    "LIGHTGBM_LOCAL_LISTEN_PORT": "port of this machine",
                },
                program="lightgbm.train with the parameters machines, num_machines and local_listen_port; "
                "the command lightgbm gets them from the launcher",
            ),
            Preset(
                name="mxnet",
                roles={
                    0: "scheduler, which does not train",
                    1: "workers",
                    2: "servers, which keep the weights",
                },
                pools=(CHIEF, WORKERS, SERVERS),
                variables={
                    "DMLC_ROLE": "scheduler, worker or server",
                    "DMLC_PS_ROOT_URI": "address of the scheduler",
                    "DMLC_PS_ROOT_PORT": "port of the scheduler",
                    "DMLC_NUM_WORKER": "number of workers",
                    "DMLC_NUM_SERVER": "number of servers",
                    "DMLC_WORKER_ID": "number of this worker; the rank is by arrival",
                },
                program='mxnet.kv.create("dist_sync"); scheduler and servers serve inside `import mxnet`',
            ),
            Preset(
                name="horovod",
                roles={**_TRAINER_ROLES, 2: "reduction servers"},
                pools=_TRAINERS,
                processes="HOROVOD_LOCAL_SIZE",
                variables={
                    "HOROVOD_GLOO_RENDEZVOUS_ADDR": "address of the rendezvous, which the launcher runs on "
                    "the chief",
                    "HOROVOD_GLOO_RENDEZVOUS_PORT": "port of the rendezvous",
                    "HOROVOD_RANK": "rank of this process; HOROVOD_SIZE, _LOCAL_RANK, _LOCAL_SIZE, "
                    "_CROSS_RANK and _CROSS_SIZE are set as well",
                    "HOROVOD_LOCAL_SIZE": "processes on each machine, one for each accelerator",
                },
                program="horovod.*.init(); no ssh and no horovodrun",
            ),
            Preset(
                name="adanet",
                roles={**_TF_ROLES, 2: "parameter servers"},
                port=_TF_PORT,
                variables=_TF_CONFIG,
                program="adanet.Estimator with tf.estimator.train_and_evaluate, which read TF_CONFIG",
            ),
        )
    }
)
"""Every preset by its name."""


def image_name(preset: Preset, device: str) -> str | None:
    """Return the name of a prebuilt image for a device, without repository; None if Google has none."""
    return preset.images.get(device)
