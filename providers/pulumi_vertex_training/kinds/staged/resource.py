"""`StagedPackage` and `StagedFile`: local files, uploaded to a bucket under the hash of their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from pulumi_vertex_training.kinds.staged.provider import StagedFileProvider, StagedPackageProvider
from pulumi_vertex_training.plugin.autonaming import object_prefix
from pulumi_vertex_training.program.references import BucketLike, bucket_name
from pulumi_vertex_training.program.resource import target_inputs, with_outputs

_OUTPUTS = ("uri", "object_name", "sha256", "size", "path")


class StagedPackage(Resource, module="stagedPackage", name="StagedPackage"):
    """A Python package for `PythonPackageSpec.package_uris`.

    `uri` is its gs:// URI and `python_module` the module to run; both are known in a preview.
    """

    uri: pulumi.Output[str]
    object_name: pulumi.Output[str]
    sha256: pulumi.Output[str]
    size: pulumi.Output[int]
    python_module: pulumi.Output[str]

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
        exclude: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        format: pulumi.Input[str] | None = None,  # noqa: A002  as in a build tool
        prefix: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **more: Any,
    ) -> None:
        """Declare a package.

        :param source: a script, a folder of modules, or a project with pyproject.toml; relative to the Pulumi
            program's folder. It is packed reproducibly, and none of its code is run. A finished `.whl` or
            `.tar.gz` is checked and staged unchanged.
        :param package_name, version: of a script or a folder; a project or a finished file must match them.
        :param requirements: of a script or a folder; a project declares its own.
        :param extra_files: path inside the package -> file or folder to add.
        :param exclude: patterns of paths to leave out, as for `fnmatch`.
        :param format: `sdist` (default), which pip builds on each replica, or `wheel`, which it only unpacks.
            A wheel needs pure Python whose build follows from its files.
        :param prefix: folder of the object in the bucket; default `packages/<resource name>`.
        :param more: unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "bucket": bucket_name(bucket),
            "source": source,
            "package_name": package_name,
            "version": version,
            "requirements": requirements,
            "extra_files": extra_files,
            "exclude": exclude,
            "format": format,
            "prefix": f"packages/{object_prefix(resource_name)}" if prefix is None else prefix,
            **more,
            **target_inputs(project, location),
        }
        props = with_outputs(inputs, *_OUTPUTS, "python_module")
        super().__init__(StagedPackageProvider(), resource_name, props, opts)


class StagedFile(Resource, module="stagedFile", name="StagedFile"):
    """A file, staged unchanged. `uri` is its gs:// URI, `path` its path below /gcs in a replica."""

    uri: pulumi.Output[str]
    path: pulumi.Output[str]
    object_name: pulumi.Output[str]
    sha256: pulumi.Output[str]
    size: pulumi.Output[int]

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
        **more: Any,
    ) -> None:
        """Declare a file.

        :param source: the file, relative to the Pulumi program's folder.
        :param prefix: folder of the object in the bucket; default `files/<resource name>`.
        :param more: unsupported arguments; each one is rejected by name.
        """
        inputs = {
            "bucket": bucket_name(bucket),
            "source": source,
            "prefix": f"files/{object_prefix(resource_name)}" if prefix is None else prefix,
            **more,
            **target_inputs(project, location),
        }
        super().__init__(StagedFileProvider(), resource_name, with_outputs(inputs, *_OUTPUTS), opts)
