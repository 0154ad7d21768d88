"""What a trial of a tuning job finds besides: the same variables on Vertex AI and on AI Platform."""

from __future__ import annotations

import re

METRIC_TAG = "training/hptuning/metric"
"""The name under which a program reports its metric unless it gives another (package `cloudml-hypertune`)."""

METRIC_FILE = "/tmp/hypertune/output.metrics"  # noqa: S108 - inside the replica
"""Where a program reports its metric unless the service names a file (package `cloudml-hypertune`)."""


def tuning_variables(
    trial: str | None, *, metric_tag: str = METRIC_TAG, metric_file: str = METRIC_FILE
) -> dict[str, str]:
    """The variables of a trial; none outside a tuning job, where `trial` is None.

    Raises ValueError when `trial` is not a number from "1".
    """
    if trial is None:
        return {}
    if not re.fullmatch(r"[1-9][0-9]*", trial):
        raise ValueError(f'{trial!r} is no trial; give its number as text, from "1"')
    return {
        "CLOUD_ML_TRIAL_ID": trial,
        "CLOUD_ML_HP_METRIC_FILE": metric_file,
        "CLOUD_ML_HP_METRIC_TAG": metric_tag,
    }
