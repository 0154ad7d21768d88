"""`DistributedTraining`: a bucket, a repository, an image or package, and their job in one call."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import pulumi

from pulumi_vertex_training.core.state.hidden_input import RESULTS
from pulumi_vertex_training.kinds.custom_job.args import JobOptions
from pulumi_vertex_training.kinds.custom_job.resource import CustomJob
from pulumi_vertex_training.kinds.image_repository.resource import ImageRepository
from pulumi_vertex_training.kinds.staged.resource import StagedPackage
from pulumi_vertex_training.kinds.staging_bucket.resource import StagingBucket
from pulumi_vertex_training.kinds.training_image.resource import TrainingImage
from pulumi_vertex_training.program.arguments import checks as arguments
from pulumi_vertex_training.program.arguments import worker_pools
from pulumi_vertex_training.program.arguments.job_args import WorkerPoolSpecArgs
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments
from pulumi_vertex_training.program.arguments.references import (
    BucketLike,
    ImageLike,
    RepositoryLike,
    bucket_name,
    image_uri,
)
from pulumi_vertex_training.program.arguments.worker_pools import Tasks, WorkerPool, topology
from pulumi_vertex_training.program.form import component_outputs
from pulumi_vertex_training.program.results import Completion
from vertex_training.fields.uris import DIRECTORY

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = TypeVar("P")

OF_JOB = ("job_id", "state", "create_time", "start_time", "end_time", "error", DIRECTORY, *RESULTS)
"""Outputs of the job that a component of the package has, too."""


class DistributedTraining(pulumi.ComponentResource):
    """A distributed training job with the resources that it needs.

    The parts are `bucket`, `repository`, `image`, `package` and `job`. A dictionary of arguments creates a
    part, and an existing resource is used as it is. A part that is left out is created with defaults if the
    job needs it. Every other argument of `CustomJob`, such as `wait="done"`, is passed on to the job.
    """

    bucket_name: pulumi.Output[str]
    """Name of the training's bucket."""
    package_uris: pulumi.Output[Sequence[str]]
    """gs:// addresses of the packages, empty without a package."""
    job: CustomJob
    """Job of the training."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        chief: WorkerPool,
        workers: WorkerPool | None = None,
        parameter_servers: WorkerPool | None = None,
        reduction_servers: WorkerPool | Literal["auto"] | None = None,
        evaluator: WorkerPool | None = None,
        image: ImageLike | Mapping[str, Any] | None = None,
        package: StagedPackage
        | pulumi.Input[str]
        | pulumi.Input[Sequence[pulumi.Input[str]]]
        | Mapping[str, Any]
        | None = None,
        executor_image_uri: ImageLike | None = None,
        bucket: BucketLike | Mapping[str, Any] | None = None,
        repository: RepositoryLike | Mapping[str, Any] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **job: Unpack[JobOptions],
    ) -> None:
        """Declare a training.

        :param resource_name: Name of the resource in the program.
        :param chief: Pool of the chief. A pool without `container_spec.image_uri` and
            `python_package_spec.package_uris` runs the image, or the package if there is no image. A pool
            with a `container_spec` or `python_package_spec` that lacks them runs the image or the package.
        :param workers: Pool of the workers.
        :param parameter_servers: Pool of the parameter servers.
        :param reduction_servers: Pool of the reduction servers. With "auto", as many as the network bandwidth
            of chief and workers needs. Parameter servers and reduction servers exclude each other.
        :param evaluator: Pool of the evaluator.
        :param image: Arguments of a `TrainingImage` to build, or an existing image: a resource of this or
            another package, a reference, or an output of one.
        :param package: Arguments of a `StagedPackage`, an existing one, or one or more gs:// addresses.
        :param executor_image_uri: Image in which the package is installed, such as a prebuilt one.
        :param bucket: Arguments of a `StagingBucket`, or an existing bucket. Default: a bucket named after
            project, program, stack and training.
        :param repository: Arguments of an `ImageRepository`, or an existing one; only for an image that is
            built. Default: a repository named after program, stack and training. A repository that is created
            here is destroyed with its images, which can be built again, unless `force_destroy` is False. The
            bucket, which holds the models, is not destroyed with its content.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        :param job: Every other argument of `CustomJob`, such as `wait="done"`.
        """
        pools = {
            "chief": chief,
            "workers": workers,
            "parameter_servers": parameter_servers,
            "evaluator": evaluator,
        }
        given = Tasks(
            image_uri=None if image is None else "",
            package_uris=() if package is None else ("",),
            executor_image_uri=None if executor_image_uri is None else "",
            prebuilt=_has_prebuilt_image(job.get("framework")),
        )
        parts = {"bucket": bucket, "repository": repository, "image": image, "package": package}
        arguments.require(
            resource_name,
            [
                *(
                    _no_pool(role, pool)
                    for role, pool in pools.items()
                    if pool is not None or role == "chief"
                ),
                *(
                    line
                    for name, (kind, needed) in _CREATED.items()
                    for line in _dictionary_findings(name, parts[name], kind, needed)
                ),
                *arguments.unknown(job.keys() - _JOB_ARGUMENTS, _ARGUMENTS | _JOB_ARGUMENTS),
                *(
                    line
                    for role, pool in pools.items()
                    if not _no_pool(role, pool)
                    for line in worker_pools.missing(role, pool, given)
                ),
                "repository is given, but no image is built: image is not a dictionary of arguments. Leave "
                "repository out"
                if repository is not None and not isinstance(image, Mapping)
                else None,
            ],
        )
        super().__init__("vertex-training:index:DistributedTraining", resource_name, None, opts)
        target: dict[str, Any] = {"project": project, "location": location}
        own = pulumi.ResourceOptions(parent=self, depends_on=opts.depends_on if opts else None)
        self._label = resource_name
        self._bucket: BucketLike = (
            StagingBucket(
                resource_name,
                **{**target, **(bucket or {})},
                opts=own,
            )
            if bucket is None or isinstance(bucket, Mapping)
            else bucket
        )
        self._repository: RepositoryLike | None = None
        self._image: ImageLike | None
        if isinstance(image, Mapping):
            self._repository = (
                ImageRepository(
                    resource_name,
                    **{"force_destroy": True, **target, **(repository or {})},
                    opts=own,
                )
                if repository is None or isinstance(repository, Mapping)
                else repository
            )
            self._image = TrainingImage(
                resource_name, **{"repository": self._repository, **target, **image}, opts=own
            )
        else:
            self._image = image
        if isinstance(package, Mapping):
            package = StagedPackage(resource_name, **{"bucket": self._bucket, **target, **package}, opts=own)
        self._package = package
        complete = Tasks(
            image_uri=None if self._image is None else image_uri(self._image),
            package_uris=_uris(package),
            python_module=package.python_module if isinstance(package, StagedPackage) else None,
            executor_image_uri=None if executor_image_uri is None else image_uri(executor_image_uri),
        )
        roles: dict[str, Any] = {role: worker_pools.filled(pool, complete) for role, pool in pools.items()}
        declared: dict[str, Any] = {"staging_bucket": self._bucket, **target, **job}
        self.job = CustomJob(
            resource_name,
            worker_pool_specs=topology(**roles, reduction_servers=reduction_servers),
            **declared,
            opts=own,
        )
        self.bucket_name = pulumi.Output.from_input(bucket_name(self._bucket))
        self._image_uri = complete.image_uri
        self.package_uris = cast("pulumi.Output[Sequence[str]]", pulumi.Output.from_input(_uris(package)))
        outputs = {
            "job": self.job.id,
            "bucket_name": self.bucket_name,
            "image_uri": self._image_uri,
            "package_uris": self.package_uris,
        }
        self.register_outputs(component_outputs(outputs, self.job, OF_JOB))

    @property
    def bucket(self) -> StagingBucket:
        """Bucket of the training. If you pass the name of a bucket, use `bucket_name` instead."""
        return self._own_resource("bucket", self._bucket, StagingBucket, instead="bucket_name")

    @property
    def repository(self) -> ImageRepository:
        """Repository of the image, if the training builds one and has not been given another package's."""
        return self._own_resource("repository", self._repository, ImageRepository)

    @property
    def image(self) -> TrainingImage:
        """Image of the tasks. If you pass the name of an image, use `image_uri` instead."""
        return self._own_resource("image", self._image, TrainingImage, instead="image_uri")

    @property
    def package(self) -> StagedPackage:
        """Package of the tasks. If you pass addresses of packages, use `package_uris` instead."""
        return self._own_resource("package", self._package, StagedPackage, instead="package_uris")

    @property
    def image_uri(self) -> pulumi.Output[str]:
        """Name of the image, with its digest if the training builds it."""
        if self._image_uri is None:
            raise pulumi.RunError(f"{self._label}: image_uri does not exist: the training has no image")
        return pulumi.Output.from_input(self._image_uri)

    def _own_resource(self, name: str, part: object, kind: type[P], *, instead: str = "") -> P:
        """Return a part that is a resource of this package. Raises `pulumi.RunError` for any other."""
        if isinstance(part, kind):
            return part
        raise pulumi.RunError(
            f"{self._label}: {name} does not exist: the training has no {name}"
            if part is None
            else f"{self._label}: {name} is not a resource of this package; use the one that you passed"
            + (f", or {instead}" if instead else "")
        )

    @property
    def completion(self) -> Completion:
        """As in `CustomJob`."""
        return self.job.completion

    @property
    def logs_command(self) -> pulumi.Output[str]:
        """Command that prints the logs of all replicas."""
        return self.job.logs_command

    @property
    def console_url(self) -> pulumi.Output[str]:
        """As in `CustomJob`."""
        return self.job.console_url

    @property
    def logs_url(self) -> pulumi.Output[str]:
        """As in `CustomJob`."""
        return self.job.logs_url

    @property
    def tensorboard_url(self) -> pulumi.Output[str | None]:
        """As in `CustomJob`."""
        return self.job.tensorboard_url


def _has_prebuilt_image(framework: str | None) -> bool:
    """Return whether the preset of a framework chooses an image where none is given."""
    if framework is None:
        return False
    from vertex_training.job.framework_choices import preset_of  # imported only if needed

    preset = preset_of(framework)
    return preset is not None and bool(preset.images)


def _uris(package: Any) -> pulumi.Input[Sequence[pulumi.Input[str]]]:
    """Return the addresses of a `StagedPackage`, of one address, of several, or of an Output of these."""
    if isinstance(package, StagedPackage):
        return (package.uri,)
    if isinstance(package, pulumi.Output):
        return package.apply(_uris)
    return (package,) if isinstance(package, str) else tuple(package or ())


def _no_pool(role: str, pool: object) -> str | None:
    if isinstance(pool, (WorkerPoolSpecArgs, Mapping)):
        return None
    what = (
        "an Output, whose value is not known while the program runs"
        if isinstance(pool, pulumi.Output)
        else repr(pool)
    )
    return f"{role} is {what}; give a pool: a WorkerPoolSpecArgs or a dictionary"


def _dictionary_findings(name: str, given: Any, kind: Any, needed: Collection[str]) -> Iterator[str]:
    """Yield the faults of the arguments of a part that is to be created."""
    if isinstance(given, Mapping):
        known = _keywords(kind.__init__) - {"opts"}
        for finding in arguments.unknown((key for key in given if key not in known), known):
            yield f"{name}.{finding}"
        for key in needed:
            if given.get(key) is None:
                yield f"{name}.{key} is missing; {kind.__name__} needs it"


def _keywords(of: Any) -> frozenset[str]:
    parameters = inspect.signature(of).parameters.values()
    return frozenset(each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY)


_ARGUMENTS = _keywords(DistributedTraining.__init__)
_JOB_ARGUMENTS = _keywords(CustomJob.__init__) - _ARGUMENTS - {"worker_pool_specs"}
_CREATED = {
    "bucket": (StagingBucket, ()),
    "repository": (ImageRepository, ()),
    "image": (TrainingImage, ("source",)),
    "package": (StagedPackage, ("source",)),
}
"""The parts that a dictionary creates, with their required arguments."""
