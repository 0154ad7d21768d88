"""The plan of a job: what its supervisor runs; the file plan.json in the job's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vertex_emulator.custom_jobs.sandbox.file_shares import Share
from vertex_emulator.custom_jobs.sandbox.sandbox import Sandbox
from vertex_emulator.job_folder.logs import DEFAULT_LIMIT
from vertex_emulator.replica_images.image import ReplicaImage
from vertex_training.environment.replica import Contract


@dataclass(frozen=True, kw_only=True)
class Addition:
    """`trial`: the number of a tuning job's trial, from "1". `variables` are part of every replica's
    environment; they win over all others.
    """

    trial: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


NO_ADDITION = Addition()
"""Of a job that somebody creates by the API."""


GRACE_SECONDS = 10.0
"""Between SIGTERM and SIGKILL. TensorFlow's multi-worker strategy ignores the first."""

RESTART_SECONDS = 1.0
"""Before each further attempt of a replica or of the job. The service restarts a replica at once; the pause
keeps a program that fails at its start from using up the machine."""

DEFAULT_TIMEOUT = "604800s"
"""The service's own `scheduling.timeout`: 7 days."""


@dataclass(frozen=True, kw_only=True)
class ReplicaPlan:
    """One replica. References `$(NAME)` in `argv` are not expanded yet; `notice` begins its log.

    `image` None: nothing but the host's Python, as jobs of earlier versions had it.
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
    """One job. `job` is its resource name, `environment` what every replica gets besides its own, `lines`
    what the service's log says besides, `addition` what it is given as a part of something else,
    `contract` the form of CLUSTER_SPEC.

    `project` is the project's id and `emulator_url` where the emulator answered when the job was created;
    both are empty in jobs of earlier versions, whose replicas are not told of the emulator.
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
    addition: Addition = NO_ADDITION
    lines: tuple[str, ...] = ()
    contract: Contract = "observed"

    @property
    def images_dir(self) -> Path:
        """Where images are unpacked."""
        return self.data_dir / "images"

    @property
    def timeout_seconds(self) -> float:
        return float(self.timeout.removesuffix("s"))

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON document."""
        document = asdict(self)
        for name in ("data_dir", "buckets_dir", "venvs_dir"):
            document[name] = str(document[name])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Plan:
        """The reverse of `to_json`."""
        values = dict(document)
        for name in ("data_dir", "buckets_dir", "venvs_dir"):
            values[name] = Path(values[name])
        values["sandbox"] = Sandbox(**values["sandbox"])
        values["addition"] = Addition(**values.get("addition", {}))
        values["lines"] = tuple(values.get("lines", ()))
        values["replicas"] = tuple(_replica(each) for each in values["replicas"])
        return cls(**values)


def _replica(document: Mapping[str, Any]) -> ReplicaPlan:
    image = document.get("image")
    return ReplicaPlan(
        **{
            **document,
            "argv": tuple(document["argv"]),
            "package_uris": tuple(document["package_uris"]),
            "image": None if image is None else ReplicaImage.from_json(image),
            "shares": tuple(Share(**each) for each in document.get("shares", ())),
        }
    )
