"""The plan of a job: what its supervisor runs. It is the file plan.json in the job's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vertex_emulator.job_folder.logs import DEFAULT_LIMIT
from vertex_emulator.kernel.timeouts import SUPERVISOR, SupervisorTimeouts
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.sandbox.mounts.file_shares import Share
from vertex_emulator.replicas.sandbox.sandbox import Sandbox
from vertex_training.timeouts import LOWEST

if TYPE_CHECKING:
    from vertex_training.replica_environment.replica import Contract

Network = Literal["host", "namespace"]
"""The network of a job's replicas: the machine's, or one of the job's own."""


@dataclass(frozen=True, kw_only=True)
class Addition:
    """Settings that a job gets as part of another resource.

    `trial` is the number of a tuning job's trial, from "1". `variables` are added to the environment of every
    replica and override all others.
    """

    trial: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


NO_ADDITION = Addition()
"""For a job that is created directly by the API."""


GRACE_SECONDS = 10.0
"""Seconds between SIGTERM and SIGKILL. TensorFlow's multi-worker strategy ignores SIGTERM."""

RESTART_SECONDS = 1.0
"""Seconds before each further attempt of a replica or of the job.

The service restarts a replica at once. The pause keeps a program that fails at its start from using up the
machine.
"""

DEFAULT_TIMEOUT = "604800s"
"""The service's own `scheduling.timeout`: 7 days."""


@dataclass(frozen=True, kw_only=True)
class ReplicaPlan:
    """The plan of one replica. References `$(NAME)` in `argv` are not expanded yet; `notice` begins its log.

    Without an `image` the replica runs with the host's Python alone.
    """

    name: str
    role: str
    pool: int
    index: int
    argv: tuple[str, ...]
    notice: str
    package_uris: tuple[str, ...] = ()
    image: ReplicaImage | None = None
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of one job.

    `job` is its resource name. `environment` is added to the variables of every replica. `lines` are added to
    the service's log. `contract` is the form of CLUSTER_SPEC, `network` the network of the replicas.
    `stale_objects`: a replica sees an object that another one rewrites as it was.

    `project` is the project's id; `emulator_url` and `proxy` (host and port) are where the emulator and its
    proxy answered when the job was created, "" if its replicas do not get the emulator's address.
    """

    job: str
    job_id: str
    project_number: str
    location: str
    timeout: str
    data_dir: Path
    buckets_dir: Path
    venvs_dir: Path
    sandbox: Sandbox
    replicas: tuple[ReplicaPlan, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    grace_seconds: float = GRACE_SECONDS
    restart_seconds: float = RESTART_SECONDS
    log_limit: int = DEFAULT_LIMIT
    project: str = ""
    emulator_url: str = ""
    proxy: str = ""
    addition: Addition = NO_ADDITION
    lines: tuple[str, ...] = ()
    contract: Contract = "observed"
    network: Network = "host"
    stale_objects: bool = False
    timeout_scale: float = LOWEST

    @property
    def timeouts(self) -> SupervisorTimeouts:
        """The timeouts of the supervisor, by the scale of the emulator that created the job."""
        return SUPERVISOR.at_least(self.timeout_scale)

    @property
    def images_dir(self) -> Path:
        """The folder in which images are unpacked."""
        return self.data_dir / "images"

    @property
    def timeout_seconds(self) -> float:
        return float(self.timeout.removesuffix("s"))

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON document."""
        document = asdict(self)
        for name in ("data_dir", "buckets_dir", "venvs_dir"):
            document[name] = str(document[name])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        """Read the document that `to_json` returns."""
        values = dict(document)
        for name in ("data_dir", "buckets_dir", "venvs_dir"):
            values[name] = Path(values[name])
        values["sandbox"] = Sandbox(**values["sandbox"])
        values["addition"] = Addition(**values["addition"])
        values["lines"] = tuple(values["lines"])
        values["replicas"] = tuple(_replica(each) for each in values["replicas"])
        return cls(**values)


def _replica(document: Mapping[str, Any]) -> ReplicaPlan:
    image = document["image"]
    return ReplicaPlan(
        **{
            **document,
            "argv": tuple(document["argv"]),
            "package_uris": tuple(document["package_uris"]),
            "image": None if image is None else ReplicaImage.from_json(image),
            "shares": tuple(Share(**each) for each in document["shares"]),
        }
    )
