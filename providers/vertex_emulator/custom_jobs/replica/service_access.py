"""What a replica finds around it: the emulator, where a replica of the service finds Google Cloud.

Its credentials are those of a machine's service account, for Google's services in the emulator; neither the
emulator's token nor its controls are among them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from vertex_emulator import addresses as places
from vertex_emulator.custom_jobs.plan import Plan
from vertex_emulator.kernel import data_folder
from vertex_emulator.kernel.data_folder import DataFolder, DataFolderError

SEEN_AT = Path("/run/vertex-training")
"""Where an image's own root has the folder of `sitecustomize`."""


def emulator_url(data_dir: Path) -> str:
    """Where the emulator of the folder answers, or did last; empty where that is not known."""
    try:
        record = data_folder.read_record(DataFolder(root=data_dir))
    except DataFolderError:
        return ""
    return record.url if record is not None else ""


def service_variables(plan: Plan) -> dict[str, str]:
    """How Google's clients and tools find the emulator; nothing where it is not known where that is."""
    url = emulator_url(plan.data_dir) or plan.emulator_url
    try:
        token = data_folder.read_token(DataFolder(root=plan.data_dir))
    except DataFolderError:
        token = None
    return places.replica_variables(url, token, plan.project) if url and token and plan.project else {}


def with_redirect(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables with the folder of `sitecustomize` before what PYTHONPATH has."""
    present = environment.get("PYTHONPATH", "")
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), present]))}
