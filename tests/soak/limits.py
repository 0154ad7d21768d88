"""The exclusions of the soak, and the known defects that are not reported."""

from __future__ import annotations

EXCLUDED = (
    "Lists of jobs that lag behind: on the emulator a provider does not wait for one to settle, since its "
    "lists do not lag unless a fault makes them.",
    "Answers 401, 403, 404 and 409 by a fault: a 404 is the one certain way for the service to say that a "
    "job is gone, so a false one is accepted.",
    "`wait` other than `none` for a program that fails or does not end: whether the deployment fails is "
    "checked by other tests, and would hide what the soak checks.",
    "Whether a disturbed deployment that succeeded runs a job that is due only because of the state of the "
    "last run: without an answer that state is unknown. The next deployment must run it.",
    "The file of attributes that a killed `pulumi` may leave empty next to the state, so that all commands "
    "fail (checkpoint: EOF): it is Pulumi's own, the state is complete, and the file is deleted.",
    "Records of ended jobs that a killed deployment left behind: they cost nothing, and `gc` lists them.",
    "A provider process that outlives a killed `pulumi` and never got a call, so that it has not loaded "
    "our code, which would end it: `up --refresh` starts a second one, and a kill can come very early.",
    "`never`, set after a deployment was killed between deleting a job and submitting the next one: the page "
    "does not specify whether that run is still due.",
)
"""Histories that no sequence has, or that no check covers. `make soak ARGS=jobs` prints them."""


DEFECTS = {
    "never": "`rerun` = `never`, edited after a deployment was killed between deleting a job and submitting "
    "the next one, runs with the new declaration, but its record has the old one.",
}
"""Known defects, which are not reported unless `make soak ARGS="jobs --strict"` asks for them.

Delete an entry when its defect is fixed.
"""
