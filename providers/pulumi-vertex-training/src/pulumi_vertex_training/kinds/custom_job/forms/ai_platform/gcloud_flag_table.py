"""The table of flags of the old command `gcloud ai-platform jobs submit training`.

Source: the Google Cloud CLI, all release tracks. `--evaluator-*` are ours: the command had no flags for
evaluators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["text", "switch", "tier", "accelerator", "packages", "labels", "other", "other-switch"]


@dataclass(frozen=True, kw_only=True)
class Flag:
    """A flag: the field of the training input that it sets, and how its value is read."""

    kind: Kind
    field: str = ""


def _role_flags(flag: str, role: str) -> dict[str, Flag]:
    return {
        f"--{flag}-machine-type": Flag(kind="text", field=f"{role}_type"),
        f"--{flag}-image-uri": Flag(kind="text", field=f"{role}_config.image_uri"),
        f"--{flag}-accelerator": Flag(kind="accelerator", field=f"{role}_config.accelerator_config"),
    } | ({f"--{flag}-count": Flag(kind="text", field=f"{role}_count")} if role != "master" else {})


_OF_SUBMISSION = ("--config", "--package-path", "--staging-bucket", "--task-name", "--polling-interval")
KMS_PARTS = ("--kms-keyring", "--kms-location", "--kms-project")
_OF_GCLOUD = (
    "--access-token-file",
    "--account",
    "--billing-project",
    "--configuration",
    "--flags-file",
    "--flatten",
    "--format",
    "--impersonate-service-account",
    "--project",
    "--trace-token",
    "--verbosity",
)

FLAGS: Mapping[str, Flag] = MappingProxyType(
    {
        **_role_flags("master", "master"),
        **_role_flags("worker", "worker"),
        **_role_flags("parameter-server", "parameter_server"),
        **_role_flags("evaluator", "evaluator"),
        "--scale-tier": Flag(kind="tier", field="scale_tier"),
        "--job-dir": Flag(kind="text", field="job_dir"),
        "--module-name": Flag(kind="text", field="python_module"),
        "--packages": Flag(kind="packages", field="package_uris"),
        "--runtime-version": Flag(kind="text", field="runtime_version"),
        "--python-version": Flag(kind="text", field="python_version"),
        "--region": Flag(kind="text", field="region"),
        "--network": Flag(kind="text", field="network"),
        "--service-account": Flag(kind="text", field="service_account"),
        "--kms-key": Flag(kind="text", field="encryption_config.kms_key_name"),
        "--tpu-tf-version": Flag(kind="text", field="worker_config.tpu_tf_version"),
        "--use-chief-in-tf-config": Flag(kind="text", field="use_chief_in_tf_config"),
        "--enable-web-access": Flag(kind="switch", field="enable_web_access"),
        "--labels": Flag(kind="labels"),
        **dict.fromkeys((*_OF_SUBMISSION, *KMS_PARTS, *_OF_GCLOUD), Flag(kind="other")),
        **dict.fromkeys(
            (
                "--allow-multiline-logs",
                "--async",
                "--help",
                "--log-http",
                "--quiet",
                "--stream-logs",
                "--user-output-enabled",
                "-h",
                "-q",
            ),
            Flag(kind="other-switch"),
        ),
    }
)
"""Every flag. A flag of the submission, not of the job, has the kind "other" and is ignored."""
