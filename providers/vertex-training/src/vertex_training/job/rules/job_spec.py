"""The rules of the API's message CustomJobSpec, without its worker pools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from vertex_training.fields import uris
from vertex_training.findings.options import DEFAULT_OPTIONS, CheckOptions
from vertex_training.findings.problems import Problem
from vertex_training.findings.rules import Rule
from vertex_training.findings.words import shown
from vertex_training.job.job_spec import JobSpec
from vertex_training.job.rules.bucket_names import bucket_name_faults
from vertex_training.job.rules.networking import network_problems
from vertex_training.job.rules.scheduling import scheduling_problems
from vertex_training.job.stall_timeout import stall_timeout_problems
from vertex_training.topology.rules.pools import validate_pools

_SPEC = "Vertex AI API, CustomJobSpec"
_TENSORBOARD = 'Vertex AI documentation, "Use TensorBoard with serverless training"'
_SDK = "google-cloud-aiplatform, CustomJob.run"

SERVICE_ACCOUNT = Rule(
    name="service-account",
    says="a service account is given by its e-mail address",
    source=f"{_SPEC}.service_account",
)
OUTPUT_DIRECTORY = Rule(
    name="output-directory",
    says="the output directory is gs://BUCKET/PREFIX",
    source=f"{_SPEC}.base_output_directory",
)
DIRECTORY_VARIABLE = Rule(
    name="directory-variable",
    says="the service sets AIP_MODEL_DIR and similar variables itself for a job with an output directory",
    source=f"{_SPEC}.base_output_directory",
    level="warning",
)
TENSORBOARD_NAME = Rule(
    name="tensorboard-name",
    says="a TensorBoard is given by its full resource name",
    source=f"{_SPEC}.tensorboard",
)
TENSORBOARD_NEEDS = Rule(
    name="tensorboard-needs",
    says="a TensorBoard needs a service account and an output directory",
    source=_TENSORBOARD,
)
RESOURCE_REGION = Rule(
    name="resource-region",
    says="the TensorBoard and the network attachment of a job are in its region",
    source="ours: both are regional resources, and a job runs in one region",
    level="warning",
)
EXPERIMENT_ALONE = Rule(
    name="experiment-alone", says="experiment and tensorboard exclude each other", source=_SDK
)
EXPERIMENT_NEEDS = Rule(
    name="experiment-needs",
    says="an experiment needs a service account, and a run needs an experiment",
    source=_SDK,
)
PERSISTENT_RESOURCE_ID = Rule(
    name="persistent-resource-id",
    says="a persistent resource is given by its id, not by its full name",
    source=f"{_SPEC}.persistent_resource_id",
)
PROTECTED_LOCATION = Rule(
    name="protected-artifact-location",
    says="the location of protected artifacts is given only if it differs from the job's own",
    source=f"{_SPEC}.protected_artifact_location_id",
    level="warning",
)

_SERVICE_ACCOUNT = re.compile(r"[a-z0-9][a-z0-9-]*@([a-z0-9-]+\.)+gserviceaccount\.com")
_TENSORBOARD_NAME = re.compile(r"projects/[^/]+/locations/[^/]+/tensorboards/[^/]+")
_DIRECTORY_VARIABLES = frozenset({"AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR"})
_PERSISTENT_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def job_spec_problems(
    spec: JobSpec, path: str = "", *, options: CheckOptions = DEFAULT_OPTIONS, has_output: bool = False
) -> Iterator[Problem]:
    """Yield every finding about a job, in the order of its fields; `path` is its path in the resource.

    `has_output` means that the run gets an output directory although the spec declares none.
    """
    yield from below(_problems(spec, options, has_output), path)


def below(problems: Iterable[Problem], path: str) -> Iterator[Problem]:
    """Prefix the paths of findings about a part with `path`, except for facts outside of the spec."""
    for problem in problems:
        if not path:
            yield problem
            continue
        bases = tuple(base if base in OUTSIDE else _joined(path, base) for base in problem.rests_on)
        own = problem.path if problem.path in OUTSIDE else _joined(path, problem.path)
        yield replace(problem, path=own, rests_on=bases)


OUTSIDE = frozenset({"location"})
"""Paths of facts that are given to a check besides the spec."""


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if name else path


def _problems(spec: JobSpec, options: CheckOptions, has_output: bool) -> Iterator[Problem]:
    yield from validate_pools(spec.worker_pool_specs, options=options)
    yield from scheduling_problems(spec)
    yield from stall_timeout_problems(spec, options)
    if spec.service_account and not _SERVICE_ACCOUNT.fullmatch(spec.service_account):
        yield SERVICE_ACCOUNT.broken(
            "service_account",
            f"{spec.service_account!r} is not the e-mail address of a service account; "
            "write NAME@PROJECT.iam.gserviceaccount.com",
        )
    yield from network_problems(spec)
    if spec.base_output_directory:
        yield from _directory_problems(spec.base_output_directory)
    if spec.base_output_directory or has_output:
        yield from _directory_variable_problems(spec)
    yield from _resource_problems(spec, options)
    yield from _region_problems(spec, options)
    yield from _tracking_problems(spec, has_output)


def _directory_problems(text: str) -> Iterator[Problem]:
    path = "base_output_directory"
    try:
        address = uris.parse(text)
    except ValueError:
        yield OUTPUT_DIRECTORY.broken(
            path, f"{text!r} is not a directory in a bucket; write gs://BUCKET/PREFIX"
        )
        return
    for fault in bucket_name_faults(address.bucket):
        yield OUTPUT_DIRECTORY.broken(path, fault)


def staging_bucket_problems(bucket: str | None) -> Iterator[Problem]:
    """Check the bucket in which a run gets its output directory: a name, or a name and a prefix."""
    path = "staging_bucket"
    if not bucket:
        return
    if "://" in bucket:
        yield OUTPUT_DIRECTORY.broken(path, f"{bucket!r} is not the name of a bucket; write the name alone")
        return
    for fault in bucket_name_faults(bucket.split("/")[0]):
        yield OUTPUT_DIRECTORY.broken(path, fault)


def _directory_variable_problems(spec: JobSpec) -> Iterator[Problem]:
    """Check for variables that the service sets itself for a job with an output directory."""
    for position, pool in enumerate(spec.worker_pool_specs):
        name = "container_spec" if pool.container_spec else "python_package_spec"
        for i, variable in enumerate(pool.task.env if pool.task and not pool.is_empty else ()):
            if variable.name in _DIRECTORY_VARIABLES:
                path = f"worker_pool_specs[{position}].{name}.env[{i}].name"
                yield DIRECTORY_VARIABLE.broken(
                    path,
                    f"{variable.name} is overwritten by Vertex AI with a directory below the job's output "
                    "directory; leave it out",
                    rests_on=(path, "base_output_directory"),
                )


def _resource_problems(spec: JobSpec, options: CheckOptions) -> Iterator[Problem]:
    """Check where the job runs: persistent resource, protected artifacts."""
    if spec.persistent_resource_id and not _PERSISTENT_ID.fullmatch(spec.persistent_resource_id):
        short = spec.persistent_resource_id.rpartition("/")[2]
        if short != spec.persistent_resource_id and _PERSISTENT_ID.fullmatch(short):
            fault = f"is a full name; give the id alone, {short}. A program can also pass the resource itself"
        else:
            fault = (
                "is not the id of a persistent resource; write 1 to 63 lowercase letters, digits and dashes "
                "that begin with a letter"
            )
        yield PERSISTENT_RESOURCE_ID.broken(
            "persistent_resource_id", f"{shown(spec.persistent_resource_id)} {fault}"
        )
    if spec.protected_artifact_location_id and spec.protected_artifact_location_id == options.location:
        yield PROTECTED_LOCATION.broken(
            "protected_artifact_location_id",
            f"{options.location} is the job's own location; leave it out",
            rests_on=("protected_artifact_location_id", "location"),
        )


def _region_problems(spec: JobSpec, options: CheckOptions) -> Iterator[Problem]:
    attachment = spec.psc_interface_config and spec.psc_interface_config.network_attachment
    for path, name, noun in (
        ("tensorboard", spec.tensorboard, "TensorBoard"),
        ("psc_interface_config.network_attachment", attachment, "network attachment"),
    ):
        match = re.search(r"/(?:locations|regions)/([^/]+)/", name or "")
        if match and options.location and match.group(1) != options.location:
            yield RESOURCE_REGION.broken(
                path,
                f"the {noun} is in {match.group(1)}, the job runs in {options.location}; use one of "
                "the job's region",
                rests_on=(path, "location"),
            )


def _tracking_problems(spec: JobSpec, has_output: bool) -> Iterator[Problem]:
    """Check where the job's metrics go: TensorBoard, experiment."""
    if spec.tensorboard and not _TENSORBOARD_NAME.fullmatch(spec.tensorboard):
        yield TENSORBOARD_NAME.broken(
            "tensorboard",
            f"{shown(spec.tensorboard)} is not a TensorBoard; write "
            "projects/PROJECT/locations/LOCATION/tensorboards/ID",
        )
    if spec.tensorboard:
        if not spec.service_account:
            yield TENSORBOARD_NEEDS.broken(
                "service_account",
                "is required with tensorboard; name the service account with which the replicas write to it",
                rests_on=("service_account", "tensorboard"),
            )
        if not spec.base_output_directory and not has_output:
            yield TENSORBOARD_NEEDS.broken(
                "base_output_directory",
                "is required with tensorboard; give the directory below which the replicas write logs/",
                rests_on=("base_output_directory", "tensorboard"),
            )
    if spec.experiment and spec.tensorboard:
        yield EXPERIMENT_ALONE.broken(
            "experiment",
            "cannot be combined with tensorboard; leave one out. An experiment has its own TensorBoard",
            rests_on=("experiment", "tensorboard"),
        )
    if spec.experiment and not spec.service_account:
        yield EXPERIMENT_NEEDS.broken(
            "service_account",
            "is required with experiment; name the service account with which the replicas write to it",
            rests_on=("service_account", "experiment"),
        )
    if spec.experiment_run and not spec.experiment:
        yield EXPERIMENT_NEEDS.broken(
            "experiment",
            "is required with experiment_run; name the experiment of the run",
            rests_on=("experiment", "experiment_run"),
        )
