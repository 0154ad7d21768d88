"""The module that a job runs, compared with what its packages contain."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.core.running.package_modules import PackageModules, module_fault
from support.tables import every_row

PACKAGES = [
    PackageModules(
        modules=("trainer.task", "trainer.data.load", "trainer.model"), requirements=("My-Runner>=1",)
    ),
    PackageModules(modules=("helper",)),
]


@every_row(
    ("module", "words"),
    [
        pytest.param("trainer.task", "", id="in a package"),
        pytest.param("helper", "", id="in another package"),
        pytest.param("", "is clearly the program; name one: helper, trainer.data.load", id="none"),
        pytest.param("torch.distributed.run", "", id="a launcher of an image"),
        pytest.param("my_runner.main", "", id="of a requirement"),
        pytest.param("trainer.tsk", "did you mean trainer.task", id="typo"),
        pytest.param(
            "trainer", "is a package without a module __main__; its modules are trainer.data", id="package"
        ),
        pytest.param(
            "somewhere", "is not in the packages; they contain helper, trainer.data", id="unlike all"
        ),
    ],
)
def test_a_module(module: str, words: str) -> None:
    fault = module_fault(module, PACKAGES)
    assert (words in fault) if words else fault == ""


def test_a_long_list_is_cut() -> None:
    modules = [f"net.m{number}" for number in range(20)]
    fault = module_fault("other", [PackageModules(modules=modules)])
    assert fault.endswith("net.m14, net.m15 and 12 more")


def test_packages_without_modules() -> None:
    fault = module_fault("other", [PackageModules(modules=())])
    assert fault == "'other' is not in the packages; they contain no module that can be run"
