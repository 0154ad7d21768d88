"""What the soak does not look at, and which defects it does not hold against a deployment."""

from __future__ import annotations

EXCLUDED = (
    "Lists of jobs that lag behind: on the emulator a provider does not wait for one to settle, since its "
    "lists do not lag unless a fault makes them.",
    "Answers 401, 403, 404 and 409 by a fault: a 404 is the one certain way for the service to say that a "
    "job is gone, so a false one is believed.",
    "`wait` other than `none` for a program that fails or does not end: whether the deployment fails is "
    "for other tests to say, and would hide what the soak looks at.",
    "`--target` with the job's URN alone, without that of its run: documented nowhere, so there is nothing "
    "to hold it to.",
    "Whether a deployment that was disturbed and still succeeded runs what is due only because of how the "
    "last run stands: without an answer nobody knows how it stands. The deployment after it must.",
    "The file of attributes that a killed `pulumi` may leave empty beside the state, so that every command "
    "fails (checkpoint: EOF): it is Pulumi's own, the state is whole, and the file is deleted.",
    "Records of ended jobs that a killed deployment left behind: they cost nothing, and `gc` lists them.",
    "A provider process that outlives a killed `pulumi` and was never asked anything, so that it has none "
    "of our code that would end it: `up --refresh` starts one more, and a kill can come very early.",
    "`never`, set after a deployment was killed between recording a run and submitting it: the page does not "
    "say whether that run is still due.",
)
"""What no sequence has, or no check looks at, and why. Printed with the summary of `make soak`."""


DEFECTS = {
    "never": "`rerun` = `never`, edited after a deployment was killed between recording a run and submitting "
    "its job, runs as it is declared now under a record of what was declared before.",
}
"""Defects that are known, and what is not held against a deployment while they are there. An entry goes when
its defect does; `make soak ARGS="--strict"` holds everything against it."""
