"""The provider of `StagedFolder`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.core.autonaming import object_prefix
from pulumi_vertex_training.core.call import Call, Checked, Created, Difference, Found, Values
from pulumi_vertex_training.core.interrupted import creation_notes, deletion_notes
from pulumi_vertex_training.core.operation import OPERATION
from pulumi_vertex_training.core.property_changes import property_changes
from pulumi_vertex_training.core.provider import Provider, complete, is_unknown, warnings
from pulumi_vertex_training.kinds.staged.manifest import MANIFEST, FolderFile, change, packed, unpacked
from pulumi_vertex_training.kinds.staged.provider import StagedInputs, decoded_inputs, made_from
from pulumi_vertex_training.kinds.staged_folder import operations
from pulumi_vertex_training.kinds.staged_folder.files import Listing, listing
from pulumi_vertex_training.kinds.staged_folder.spec import FolderSpec, amount, content_hash
from pulumi_vertex_training.packaging.errors import PackagingError
from vertex_training.fields.decode import UNKNOWN, Decoded, decode
from vertex_training.findings.problems import Problem, errors
from vertex_training.findings.words import counted

REPLACING = ("endpoint", "bucket", "prefix", "sha256")
"""Inputs whose change replaces the folder. Source and patterns are not among them, only what they give."""

UPDATING = ("on_delete",)

DERIVED = ("sha256", "count", "size", "uri", "path")


@dataclass(frozen=True, kw_only=True)
class FolderInputs(StagedInputs):
    """The inputs of a staged folder; `include` and `exclude` are patterns of `packaging.globs`."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    on_delete: Literal["delete", "keep"] = "delete"


class StagedFolderProvider(Provider):
    """Inputs: `FolderInputs`, and those that check derives from the files."""

    names = ("bucket", "source")

    def defaults(self, resource: str) -> Values:
        return {"prefix": f"folders/{object_prefix(resource)}"}

    def check(self, call: Call) -> Checked:
        decoded = _decoded(call.inputs)
        content, problems = made_from(decoded, _listing)
        if decoded.spec is None or errors(problems):
            return Checked(problems=[*decoded.problems, *problems])
        inputs = {**complete(decoded.spec, unknown=decoded.unknown), "prefix": _prefix(decoded.spec)}
        if decoded.unknown or content is None:
            return Checked(inputs={**inputs, **dict.fromkeys(DERIVED, UNKNOWN)})
        spec = FolderSpec(
            bucket=decoded.spec.bucket, prefix=inputs["prefix"], sha256=content_hash(content.files)
        )
        uri = str(spec.uri)
        if call.old_inputs.get("sha256") != spec.sha256:
            _say_findings(decoded.spec.source, content)
        derived = {
            "sha256": spec.sha256,
            "count": len(content.files),
            "size": sum(file.size for file in content.files),
            "uri": uri,
            "path": spec.uri.mounted,
            MANIFEST: packed(content.files),
        }
        return Checked(inputs={**inputs, **derived})

    def diff(self, call: Call) -> Difference:
        old, new = call.outputs, call.inputs
        replaces = [name for name in REPLACING if is_unknown(new.get(name)) or old.get(name) != new.get(name)]
        names = [*replaces, *(name for name in UPDATING if old.get(name) != new.get(name))]
        is_checked = call.context.checked is not None
        if is_checked and replaces == ["sha256"] and not is_unknown(new["sha256"]):
            OPERATION.print_once(f"{call.id}: {_summary(old, new)}")
        if is_checked and not replaces:
            OPERATION.note_made(call.id)  # a replacement that a killed deployment began has the same objects
        found = Difference(
            changes=bool(names), properties=property_changes(old, new, names, replacing=replaces)
        )
        return deletion_notes.continued(
            found, call, lambda endpoint: None if operations.faults(endpoint, old) else old, title=call.id
        )

    def create(self, call: Call) -> Created:
        raw = call.inputs
        inputs = decode(FolderInputs, {name: raw[name] for name in _FIELDS if name in raw}).spec
        if inputs is None:
            raise ValueError("create received inputs of a folder that check rejects; please report this")
        content = _listing(inputs, changing=True)
        if content_hash(content.files) != raw["sha256"]:
            now = change(unpacked(raw[MANIFEST]), {file.path: file for file in content.files})
            message = (
                f"changed during the deployment: {now}. When nothing writes to it, run `pulumi up` again."
            )
            raise PackagingError([Problem(path="source", message=f"{raw['source']} {message}")])
        uri = raw["uri"]
        with creation_notes.noted(self, raw, uri, key=call.key, title=uri):
            operations.stage(call, content)
        return Created(id=raw["uri"], outputs=raw)

    def update(self, call: Call) -> Values:
        old, new = call.outputs, call.inputs
        creation_notes.remove_others(call.id, call.key)
        if old.get("on_delete") != new.get("on_delete"):
            operations.relabel(new, call.key)
        return {**call.outputs, **call.inputs}

    def read(self, call: Call) -> Found | None:
        recorded = call.outputs
        if operations.exists_unchanged(recorded):
            return Found(outputs=recorded)
        return None

    def delete(self, call: Call) -> None:
        operations.delete_folder(call.outputs)

    def remove_interrupted(self, endpoint: Endpoint, id_: str, key: str) -> bool:
        return operations.delete_interrupted(endpoint, id_, key)


_FIELDS = tuple(FolderInputs.__dataclass_fields__)


def _decoded(inputs: Mapping[str, Any]) -> Decoded[FolderInputs]:
    return decoded_inputs(FolderInputs, inputs).then(
        lambda inputs: inputs,
        lambda inputs: [] if _prefix(inputs) else [Problem(path="prefix", message=_NO_PREFIX)],
    )


_NO_PREFIX = "it is empty. Name a folder of the bucket, below which only versions of this folder are."


def _prefix(inputs: StagedInputs) -> str:
    return inputs.prefix.strip("/")


def _listing(inputs: FolderInputs, *, changing: bool = False) -> Listing:
    return listing(
        Path(inputs.source),
        prefix=_prefix(inputs),
        include=inputs.include,
        exclude=inputs.exclude,
        changing=changing,
    )


def _say_findings(source: str, content: Listing) -> None:
    for line in warnings(source, content.warnings):
        OPERATION.print_once(line)
    if content.left_out:
        OPERATION.print_once(f"{source}: left out: {content.left_out}")


def _summary(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what a preview says of a new version of the folder."""
    before, after = unpacked(old.get(MANIFEST)), unpacked(new.get(MANIFEST))
    known = {(file.size, file.crc32c) for file in before.values()}
    to_send = [file for file in after.values() if (file.size, file.crc32c) not in known]
    return f"{change(before, after)}; {_sent(to_send)}"


def _sent(files: list[FolderFile]) -> str:
    if not files:
        return "nothing to send"
    return f"{counted(len(files), 'file')} to send, {amount(sum(file.size for file in files))}"
