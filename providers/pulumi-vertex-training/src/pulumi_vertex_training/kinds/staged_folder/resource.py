"""`StagedFolder`: a local folder of files, uploaded to a bucket below the hash of its content."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from pulumi_vertex_training.core.autonaming import object_prefix
from pulumi_vertex_training.program.arguments.named_arguments import named_arguments, unknown_arguments
from pulumi_vertex_training.program.arguments.references import BucketLike, bucket_name
from pulumi_vertex_training.program.form import Resource
from pulumi_vertex_training.program.preview.local_files import check_files
from pulumi_vertex_training.program.resource import target_inputs, with_outputs
from pulumi_vertex_training.program.stack_key import key_input

_OUTPUTS = ("uri", "path", "count", "size", "sha256")


class StagedFolder(Resource, module="stagedFolder", name="StagedFolder"):
    """A folder of files, staged by content: a changed folder is a new one beside the old.

    `path` is the folder in a replica, below /gcs, `uri` its gs:// URI. Below it, files have the paths that
    they have in `source`. Only files that the bucket does not have yet are sent.
    """

    uri: pulumi.Output[str]
    """gs:// URI of the folder, without a slash at its end. Known in a preview."""
    path: pulumi.Output[str]
    """Path of the folder in a replica, below /gcs. Known in a preview."""
    count: pulumi.Output[int]
    """Number of files."""
    size: pulumi.Output[int]
    """Size of all files in bytes."""
    sha256: pulumi.Output[str]
    """SHA-256 of all paths and contents, in hex digits."""

    @named_arguments
    def __init__(
        self,
        resource_name: str,
        *,
        bucket: BucketLike,
        source: pulumi.Input[str],
        include: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        exclude: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None,
        prefix: pulumi.Input[str] | None = None,
        on_delete: pulumi.Input[str] | None = None,
        project: pulumi.Input[str] | None = None,
        location: pulumi.Input[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare a folder.

        :param resource_name: Name of the resource in the program.
        :param bucket: Bucket, or its name, that the objects are uploaded to.
        :param source: Folder, relative to the Pulumi program's folder.
        :param include: Patterns of files to stage, such as `*.jpg` or `train/**`. Default: all files that are
            not hidden.
        :param exclude: Patterns of files and folders to leave out; they win over `include`.
        :param prefix: Folder in the bucket that has the versions of this folder. Default: `folders/<resource
            name>`.
        :param on_delete: `delete` (default) deletes the objects with the resource, and those of the version
            before when the content changes. `keep` leaves them.
        :param project: Project id. Default: the stack's project.
        :param location: Region. Default: the stack's location.
        :param opts: Pulumi's options of the resource.
        """
        kept = opts is not None and bool(opts.retain_on_delete)
        inputs = {
            "bucket": bucket_name(bucket),
            "source": check_files(resource_name, source),
            "include": include,
            "exclude": exclude,
            "prefix": f"folders/{object_prefix(resource_name)}" if prefix is None else prefix,
            "on_delete": on_delete,
            **unknown_arguments(self),
            **target_inputs(project, location),
        }
        props = {
            **with_outputs(inputs, *_OUTPUTS),
            **key_input(self, "StagedFolder", resource_name, opts, is_kept=kept),
        }
        super().__init__("StagedFolder", resource_name, props, opts)
