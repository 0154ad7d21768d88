"""A custom job from its creation to its deletion, without its program: answers, lists, cancellation."""

from __future__ import annotations

import re

from scripts.verify_google.cases.case import Case, Json, custom_job, pool
from scripts.verify_google.comparison import Allowed
from scripts.verify_google.recorder import Names, Recorder

_SLEEP = "import time; time.sleep(3600)"


def _everything(names: Names) -> Json:
    """Return a job with skipped pools, as a client may send it."""
    return custom_job(names, pool(_SLEEP), {}, {}, {})


def _lifecycle(at: Recorder) -> None:
    created = at.submit("customJobs", _everything(at.names), step="create")
    if not created.is_success:
        raise at.unexpected("the creation of a job", created)
    name = str(created.body["name"])
    same = created.body.get("createTime") == created.body.get("updateTime")
    at.note("created and updated at once", {"same": same})
    at.note("the creation names the project's number", {"number": name.split("/")[1].isdigit()})
    short = f"{at.endpoint.parent}/customJobs/{name.rpartition('/')[2]}"
    at.note("found by the project's id", {"same": at.call("GET", at.vertex(short)).body.get("name") == name})
    beta = at.call("GET", at.vertex(name, version="v1beta1")).body
    at.note("found in v1beta1", {"same": beta.get("jobSpec") == created.body.get("jobSpec")})
    jobs = at.vertex("customJobs")
    for step, text in (
        ("list by name", f'display_name="{at.names.display_name}"'),
        (
            "list by label",
            f"labels.vertex-training-verify={at.names.run} AND display_name:{at.names.display_name}*",
        ),
        ("list by state", f'display_name="{at.names.display_name}" AND state="JOB_STATE_SUCCEEDED"'),
    ):
        listed = at.call("GET", jobs, query={"filter": text})
        found = [each.get("displayName") for each in listed.body.get("customJobs", [])]
        at.note(step, {"status": listed.status, "names": [at.sanitiser.text(str(each)) for each in found]})
    live = at.call("DELETE", at.vertex(name))
    error = live.body.get("error", {})
    # The job is queued, pending or running at this time, and the message may name its state.
    words = re.sub(r"JOB_STATE_\w+", "STATE", at.sanitiser.text(str(error.get("message", ""))))
    at.note("delete, live", {"status": live.status, "error": error.get("status", ""), "message": words})
    if live.is_success:
        return  # not documented; the report shows it, and the rest needs the job
    reply = at.call("POST", at.vertex(f"{name}:cancel"), {}, step="cancel")
    if not reply.is_success:
        raise at.unexpected("the cancellation", reply)
    at.wait_for(name)
    at.call("GET", at.vertex(name), step="get, cancelled")
    at.call("POST", at.vertex(f"{name}:cancel"), {}, step="cancel again")
    at.operation(at.call("DELETE", at.vertex(name)), step="delete")
    at.call("GET", at.vertex(name), step="get after delete")


CASES = (
    Case(
        name="cancelled",
        about="a job: create with skipped pools, get, list, cancel, delete, in every wrong order too",
        rows=(
            "Custom jobs: create, get, list",
            "Custom jobs: lists",
            "Custom jobs: cancel and delete",
            "The interface: names",
            "The interface: v1 and v1beta1",
            "The interface: operations",
        ),
        steps=_lifecycle,
        jobs=(_everything,),
        allowed=(
            Allowed(
                step="*",
                path="error.details*",
                reason="the details of errors have more parts on Google Cloud",
            ),
            Allowed(
                step="get, cancelled",
                path="startTime",
                reason="the job may be cancelled before or after its start",
            ),
        ),
    ),
)
