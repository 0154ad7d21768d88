"""`make verify-google` with an emulator in the place of Google Cloud, as a process that a test can kill.

Takes one argument, a JSON object: the addresses and tokens of both, and the command's arguments.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[each]) for each in (3, 4)]

from pulumi_vertex_training.cloud.endpoint import Endpoint  # noqa: E402
from scripts.verify_google.command import Services, main  # noqa: E402
from scripts.verify_google.recorder import Pace  # noqa: E402
from support.client.verify.front import Front  # noqa: E402


def run(given: dict[str, object]) -> int:
    google = Front(url=str(given["google_url"]), token=str(given["google_token"])).endpoint()
    emulator = Endpoint(
        kind="emulator",
        project="my-project",
        location="us-central1",
        url=str(given["emulator_url"]),
        token=str(given["emulator_token"]),
    )
    pace = Pace(poll_seconds=0.1, limit_seconds=300.0)
    arguments = [str(each) for each in given["arguments"]]  # type: ignore[attr-defined]
    return main(arguments, services=Services(google=google, google_pace=pace, emulator=emulator))


if __name__ == "__main__":
    sys.exit(run(json.loads(sys.argv[1])))
