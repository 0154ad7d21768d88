"""`StagedPackage` and `StagedFile`: local files, uploaded to a bucket under the hash of their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from pulumi_vertex_training.core.autonaming import object_prefix
from pulumi_vertex_training.core.promotion.entries import PromotedPackage
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import BucketLike, bucket_name
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.local_files import check_files
from pulumi_vertex_training.program.promotions import promoted_input
from pulumi_vertex_training.program.resource import target_inputs, with_outputs
from pulumi_vertex_training.program.stack_key import key_input

_OUTPUTS = ("uri", "object_name", "sha256", "size", "path")


class StagedPackage(Resource, module="stagedPackage", name="StagedPackage"):
    """A Python package for `PythonPackageSpec.package_uris`.

    `uri` is its gs:// URI and `python_module` the module to run; both are known in a preview. If the stack
    has a promoted package for this resource, that package is used, and nothing is packed.
    """

    uri: pulumi.Output[str]
    """gs:// URI of the object. Known in a preview."""
    object_name: pulumi.Output[str]
    """Name of the object in the bucket."""
    sha256: pulumi.Output[str]
    """SHA-256 of the content, in hex digits."""
    size: pulumi.Output[int]
    """Size in bytes."""
    python_module: pulumi.Output[str]
    """Module to run. Known in a preview. Empty if it is not clear which of several modules is meant."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        bucket: BucketLike,
        source: pulumi.Input[str],
        package_name: pulumi.Input[str] | None = None,
        version: pulumi.Input[str] | None = None,
        requirements: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        extra_files: pulumi.Input[Mapping[str, pulumi.Input[str]]] | None = None,
        vertex_cluster: pulumi.Input[bool | None] = None,
        exclude: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        format: pulumi.Input[str] | None = None,  # noqa: A002  as in a build tool
        prefix: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a package.

        :param resource_name: Name of the resource in the program.
        :param bucket: Bucket, or its name, that the object is uploaded to.
        :param source: Script, a folder of modules, or a project with pyproject.toml; relative to the Pulumi
            program's folder. It is packed reproducibly, and none of its code is run. A finished `.whl` or
            `.tar.gz` is checked and staged unchanged.
        :param package_name: Name of the package, of a script or a folder. A project or a finished file must
            match it.
        :param version: Version of the package, of a script or a folder. A project or a finished file must
            match it.
        :param requirements: Requirements of a script or a folder. A project declares its own.
        :param extra_files: Files or folders to add, by their path inside the package.
        :param vertex_cluster: Add the package `vertex_cluster`, as it is installed here, so that the program
            can import it on every replica.
        :param exclude: Patterns of paths to leave out, as for `fnmatch`.
        :param format: Format of the package: `wheel`, which pip only unpacks, or `sdist`, which it builds on
            each replica with a build backend from the package index. Default: a wheel, or an sdist, with a
            warning, for a project whose wheel only a build can make.
        :param prefix: Folder of the object in the bucket. Default: `packages/<resource name>`.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        promoted = promoted_input(PromotedPackage, "package", resource_name)
        inputs = {
            "bucket": bucket_name(bucket),
            "source": source if promoted else check_files(resource_name, source, extra_files=extra_files),
            "package_name": package_name,
            "version": version,
            "requirements": requirements,
            "extra_files": extra_files,
            "vertex_cluster": vertex_cluster,
            "exclude": exclude,
            "format": format,
            "prefix": f"packages/{object_prefix(resource_name)}" if prefix is None else prefix,
            **promoted,
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        props = {
            **with_outputs(inputs, *_OUTPUTS, "python_module"),
            **_key_input(self, "StagedPackage", resource_name, opts),
        }
        super().__init__("StagedPackage", resource_name, props, opts)


class StagedFile(Resource, module="stagedFile", name="StagedFile"):
    """A file, staged unchanged. `uri` is its gs:// URI, `path` its path below /gcs in a replica."""

    uri: pulumi.Output[str]
    """gs:// URI of the object. Known in a preview."""
    path: pulumi.Output[str]
    """Path of the file in a replica, below /gcs."""
    object_name: pulumi.Output[str]
    """Name of the object in the bucket."""
    sha256: pulumi.Output[str]
    """SHA-256 of the content, in hex digits."""
    size: pulumi.Output[int]
    """Size in bytes."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        bucket: BucketLike,
        source: pulumi.Input[str],
        prefix: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a file.

        :param resource_name: Name of the resource in the program.
        :param bucket: Bucket, or its name, that the object is uploaded to.
        :param source: File, relative to the Pulumi program's folder.
        :param prefix: Folder of the object in the bucket. Default: `files/<resource name>`.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        inputs = {
            "bucket": bucket_name(bucket),
            "source": check_files(resource_name, source),
            "prefix": f"files/{object_prefix(resource_name)}" if prefix is None else prefix,
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        props = {**with_outputs(inputs, *_OUTPUTS), **_key_input(self, "StagedFile", resource_name, opts)}
        super().__init__("StagedFile", resource_name, props, opts)


def _key_input(
    resource: pulumi.CustomResource, kind: str, resource_name: str, opts: pulumi.ResourceOptions | None
) -> dict[str, Any]:
    """Return the input with the key of an object, by which orphans are deleted: none for kept objects."""
    return key_input(resource, kind, resource_name, opts, is_kept=bool(opts and opts.retain_on_delete))
