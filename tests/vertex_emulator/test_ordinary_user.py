"""Tests that depend on the user who runs them: where that is root, an ordinary user runs them once more."""

from __future__ import annotations

import os

import pytest

from support.emulated.other_user import run_tests

SANDBOX = "tests/vertex_emulator/replicas/sandbox"
TESTS = (
    "tests/vertex_emulator/replicas/preparation/test_job_builds.py::"
    "test_a_build_is_as_far_from_the_machine_as_a_replica",
    f"{SANDBOX}/test_job_escapes.py::test_nothing_escapes",
    f"{SANDBOX}/test_job_escapes.py::test_a_plain_process_keeps_no_capability",
    f"{SANDBOX}/test_job_escapes.py::test_the_program_escapes_without_a_sandbox",
    f"{SANDBOX}/test_job_images_roots.py::test_several_layers_are_shown",
    f"{SANDBOX}/test_job_images_roots.py::test_a_closed_folder_of_the_machine_shows_the_image_s_files_alone",
    f"{SANDBOX}/test_job_network.py",
    f"{SANDBOX}/test_job_sandbox.py::test_the_view_of_a_replica",
    "tests/vertex_emulator/replicas/images/test_layers.py::test_overlayfs_shows_the_same",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs these tests already")
def test_the_same_for_an_ordinary_user() -> None:
    run_tests(*TESTS)
