"""The calls for models and their versions in the Model Registry. Requests and answers are the API's JSON.

All functions raise the errors of `pulumi_vertex_training.cloud.errors`. A name of a
version ends with "@VERSION".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.cloud.errors import CloudError, DeadlineExceeded, NotFound
from pulumi_vertex_training.cloud.translation import translated
from pulumi_vertex_training.kinds.model.spec import DEFAULT_ALIAS
from pulumi_vertex_training.runs.persistent import PersistentKind, PersistentRecord, marks_of
from vertex_training.fields.labels import OWNERSHIP_LABELS

_PAGE_SIZE = 100


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """A version as the service reports it. `name` is the model's name, without the version."""

    name: str
    version: str
    aliases: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    wire: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def full_name(self) -> str:
        """The name of the version, models/ID@VERSION."""
        return f"{self.name}@{self.version}"

    @property
    def create_time(self) -> str | None:
        """The creation time of the version, or of its model if the version has none."""
        return self.wire.get("versionCreateTime") or self.wire.get("createTime")


def upload(
    endpoint: Endpoint,
    wire: Mapping[str, Any],
    *,
    model_id: str | None = None,
    parent_model: str | None = None,
    service_account: str | None = None,
) -> tuple[str, str]:
    """Upload the first version of `model_id` or the next of `parent_model`. Return its name and number.

    The request is never retried: a second one could upload a second version.
    """
    action = f"upload model {wire.get('displayName')!r}"
    target = {"parentModel": parent_model, "modelId": model_id, "serviceAccount": service_account}
    body = {"model": dict(wire), **{name: value for name, value in target.items() if value}}
    with _translated(endpoint, action):
        operation = rest.call(
            endpoint,
            "POST",
            f"{endpoint.vertex_url}/v1/{endpoint.parent}/models:upload",
            body=body,
            idempotent=False,
        )
    done = rest.wait(endpoint, operation, action=action, timeout=endpoint.timeouts.model_operation)
    answer = done.get("response") or {}
    name, _, version = str(answer.get("model") or "").partition("@")
    return name, str(answer.get("modelVersionId") or version or "1")


def get(endpoint: Endpoint, name: str) -> ModelRecord:
    """Get a version, or the default version of a model. Raises NotFound."""
    with _translated(endpoint, f"read model {_short(name)}"):
        return _record(rest.call(endpoint, "GET", _address(endpoint, name)))


def labels_of(endpoint: Endpoint, model_id: str) -> Mapping[str, str]:
    """Return the labels of a model. Raises NotFound."""
    return get(endpoint, f"{endpoint.parent}/models/{quote(model_id, safe='')}").labels


def list_models(endpoint: Endpoint, *, filter_: str = "") -> list[ModelRecord]:
    """List the models of the endpoint's location, each by its default version."""
    address = f"{endpoint.vertex_url}/v1/{endpoint.parent}/models"
    with _translated(endpoint, "list the models"):
        pages = rest.pages(endpoint, address, query={"filter": filter_ or None, "pageSize": _PAGE_SIZE})
        return [_record(model) for page in pages for model in page.get("models", [])]


def list_labelled(endpoint: Endpoint, label: str) -> list[ModelRecord]:
    """List the models with a label of this name, each by its default version, in the endpoint's location."""
    found = list_models(endpoint, filter_=f"labels.{label}:*")
    return [record for record in found if label in record.labels]


def versions(endpoint: Endpoint, name: str) -> list[ModelRecord]:
    """List the versions of a model, the newest first. Raises NotFound."""
    with _translated(endpoint, f"list the versions of model {_short(name)}"):
        address = f"{_address(endpoint, name)}:listVersions"
        pages = rest.pages(endpoint, address, query={"pageSize": _PAGE_SIZE})
        found = [_record(version) for page in pages for version in page.get("models", [])]
    return sorted(found, key=lambda record: (len(record.version), record.version), reverse=True)


def wait_for_uploads(endpoint: Endpoint, name: str) -> None:
    """Wait until no version of the model is being uploaded.

    The service shows a version only after its upload, so only the operation shows an upload that a killed
    deployment has started. This is best effort: if operations cannot be listed, there is no wait. Raises
    DeadlineExceeded.
    """
    action = f"wait for the uploads of model {_short(name)}"
    try:
        with _translated(endpoint, action):
            pages = rest.pages(
                endpoint, f"{_address(endpoint, name)}/operations", query={"pageSize": _PAGE_SIZE}
            )
            listed = [operation for page in pages for operation in page.get("operations", [])]
    except CloudError:
        return
    for operation in listed:
        kind = str((operation.get("metadata") or {}).get("@type"))
        if operation.get("done") or not kind.endswith(".UploadModelOperationMetadata"):
            continue
        try:
            rest.wait(endpoint, operation, action=action, timeout=endpoint.timeouts.model_operation)
        except DeadlineExceeded:
            raise
        except CloudError:  # The upload failed, so there is no version.
            continue


def update(endpoint: Endpoint, name: str, wire: Mapping[str, Any]) -> ModelRecord:
    """Set the fields of `wire`, each as a whole; an empty value clears the field.

    The fields are those of the model or, if the name has a version, of the version. Raises NotFound.
    """
    with _translated(endpoint, f"update model {_short(name)}"):
        query = {"updateMask": ",".join(sorted(wire))}
        return _record(rest.call(endpoint, "PATCH", _address(endpoint, name), query=query, body=wire))


def merge_aliases(endpoint: Endpoint, name: str, aliases: Sequence[str]) -> ModelRecord:
    """Add aliases to a version, which other versions lose; remove those that begin with a dash.

    Raises NotFound.
    """
    with _translated(endpoint, f"change the aliases of model {_short(name)}"):
        return _record(
            rest.call(
                endpoint,
                "POST",
                f"{_address(endpoint, name)}:mergeVersionAliases",
                body={"versionAliases": list(aliases)},
            )
        )


def delete_version(endpoint: Endpoint, name: str) -> None:
    """Delete a version that is not the only one. Raises NotFound, FailedPrecondition while it is deployed."""
    _delete(endpoint, f"{_address(endpoint, name)}:deleteVersion", f"delete model version {_short(name)}")


def delete(endpoint: Endpoint, name: str) -> None:
    """Delete a model with all its versions. Raises NotFound, FailedPrecondition while one is deployed."""
    _delete(endpoint, _address(endpoint, name), f"delete model {_short(name)}")


def _delete(endpoint: Endpoint, address: str, action: str) -> None:
    with _translated(endpoint, action):
        operation = rest.call(endpoint, "DELETE", address)
    rest.wait(endpoint, operation, action=action, timeout=endpoint.timeouts.model_operation)


def _record(wire: Mapping[str, Any]) -> ModelRecord:
    name, _, version = str(wire.get("name") or "").partition("@")
    return ModelRecord(
        name=name,
        version=str(wire.get("versionId") or version or "1"),
        aliases=tuple(wire.get("versionAliases") or ()),
        labels=dict(wire.get("labels") or {}),
        wire=dict(wire),
    )


def _translated(endpoint: Endpoint, action: str) -> Any:
    return translated(endpoint, action, if_missing="Check the project, the location and the model's id.")


def _address(endpoint: Endpoint, name: str) -> str:
    return f"{endpoint.vertex_url}/v1/{quote(name)}"


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _get_persistent(endpoint: Endpoint, name: str) -> PersistentRecord:
    found = versions(endpoint, name)
    if not found:
        raise NotFound(f"model {name.rpartition('/')[2]} has no versions", endpoint=endpoint)
    return _persistent(found)


def _persistent(known: Sequence[ModelRecord]) -> PersistentRecord:
    shown = next((one for one in known if DEFAULT_ALIAS in one.aliases), known[0])
    others = [one.version for one in known if marks_of(one.labels) != marks_of(shown.labels)]
    return PersistentRecord(
        name=shown.name,
        display_name=str(shown.wire.get("displayName", "")),
        create_time=shown.wire.get("createTime"),
        labels=shown.labels,
        uploaded_by=frozenset(
            str(one.wire["trainingPipeline"]).rpartition("/")[2]
            for one in known
            if one.wire.get("trainingPipeline")
        ),
        obstacle=f"its versions have different labels ({', '.join(others)} differ from {shown.version}), so "
        "it may have several owners. Delete single versions with `gcloud ai models delete-version`"
        if others
        else "",
    )


PERSISTENT = PersistentKind(
    noun="model",
    labelled=lambda endpoint: [_persistent([one]) for one in list_labelled(endpoint, OWNERSHIP_LABELS[0])],
    get=_get_persistent,
    delete=delete,
)
