"""States of stacks with jobs and objects, as gc knows them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pulumi_vertex_training.cli.gc.candidates import KnownStack
from pulumi_vertex_training.cli.gc.stack_state import StackName, contents_of
from pulumi_vertex_training.registry import type_token

IDENTITY = "7066f7633f964013"
JOB = "projects/42/locations/us-central1/customJobs/8931738166088059502"
HASH = "2d711642b726b044"
URI = f"gs://staging/data/{HASH}/data.txt"


def resource(kind: str, id_: str = "", **outputs: Any) -> dict[str, Any]:
    return {"type": type_token(kind), "urn": f"urn:{kind}", "id": id_, "outputs": outputs}


CUSTOM_JOB = resource("CustomJob", JOB, __run={"key": f"{IDENTITY}-1"}, on_delete="delete")
NEXT_JOB = resource("CustomJob", f"{JOB}7", __run={"key": f"{IDENTITY}-2"}, on_delete="delete")
BEGUN_JOB = {"type": type_token("CustomJob"), "inputs": {"__run": {"identity": IDENTITY}}}
"""A job whose creation is pending."""
KEPT_JOB = resource("CustomJob", JOB, __run={"key": f"{IDENTITY}-1"}, on_delete="cancel")
STAGED = resource(
    "StagedFile",
    URI,
    bucket="staging",
    object_name=f"data/{HASH}/data.txt",
    endpoint="google",
    project="p",
    uri=URI,
)


def state(*resources: Any, pending: Any = ()) -> dict[str, Any]:
    """Return the output of `pulumi stack export`."""
    operations = [{"resource": one, "type": "creating"} for one in pending]
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": operations}}


def checkpoint(*resources: Any) -> dict[str, Any]:
    return {"version": 3, "checkpoint": {"stack": "s", "latest": {"resources": list(resources)}}}


def stack(
    *now: Any, past: tuple[Any, ...] = (), pending: Any = (), name: str = "prod", **more: Any
) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack=name),
        now=contents_of(state(*now, pending=pending), with_text=True),
        past=contents_of(checkpoint(*past)),
        **more,
    )


def removed(*past: Any) -> KnownStack:
    return KnownStack(
        name=StackName(backend="file:///a", project="digits", stack="gone"),
        now=None,
        past=contents_of(checkpoint(*past)),
    )


OTHER_JOB = resource("CustomJob", f"{JOB}8", __run={"key": f"{'0' * 16}-1"}, on_delete="delete")
resources = st.lists(st.sampled_from([NEXT_JOB, CUSTOM_JOB, KEPT_JOB, STAGED, OTHER_JOB]))
stacks = st.lists(
    st.builds(
        lambda now, past, gone: removed(*past) if gone else stack(*now, past=tuple(past)),
        resources,
        resources,
        st.booleans(),
    ),
    max_size=3,
)
