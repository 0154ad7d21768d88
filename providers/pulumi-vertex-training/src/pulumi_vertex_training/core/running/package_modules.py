"""Check that the packages of a job contain its `python_module`, as far as this operation staged them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pulumi_vertex_training.core.operation import OPERATION
from vertex_training.fields.schema import child
from vertex_training.findings.problems import Problem
from vertex_training.findings.words import nearest, shown
from vertex_training.job.job_spec import parts

_OF_IMAGES = frozenset(
    {
        "accelerate",
        "deepspeed",
        "horovod",
        "jax",
        "lightgbm",
        "lightning",
        "ray",
        "sklearn",
        "tensorflow",
        "torch",
        "torch_xla",
        "transformers",
        "xgboost",
    }
)
"""Packages of training images that have launchers, such as torch.distributed.run."""

_SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class PackageModules:
    """The modules of a staged package that `python -m` can run, and its requirements."""

    modules: Sequence[str]
    requirements: Sequence[str] = ()


class StagedModules(dict[str, PackageModules]):
    """The modules of the packages that an operation checked, by their gs:// URIs."""


def package_module_problems(spec: object) -> Iterator[Problem]:
    """Yield a problem for each pool whose module is in none of its packages.

    Pools with a package that this operation has not staged, or whose modules only a build tells, are skipped.
    """
    for path, part in parts(spec):
        for index, pool in enumerate(part.worker_pool_specs):
            task = pool.python_package_spec
            if task is None:
                continue
            staged = [OPERATION.part(StagedModules).get(uri) for uri in task.package_uris]
            known = [each for each in staged if each is not None]
            if not known or len(known) < len(staged):
                continue
            if fault := module_fault(task.python_module, known):
                below = f"{child(path, 'worker_pool_specs')}[{index}].python_package_spec"
                at = f"{below}.python_module"
                yield Problem(path=at, message=fault, rests_on=(at, f"{below}.package_uris.*"))


def module_fault(module: str, packages: Sequence[PackageModules]) -> str:
    """Return why `python -m module` cannot work with these packages, or "" if it may."""
    modules = sorted({name for package in packages for name in package.modules})
    top_level = module.partition(".")[0]
    if module in modules or top_level in _OF_IMAGES or _is_required(top_level, packages):
        return ""
    if not module:
        return f"no module of the packages is clearly the program; name one: {_listed(modules)}"
    inside = [name for name in modules if name.startswith(f"{module}.")]
    if inside:
        return f"{shown(module)} is a package without a module __main__; its modules are {_listed(inside)}"
    hint = nearest(module, modules)
    contained = f"they contain {_listed(modules)}" if modules else "they contain no module that can be run"
    return f"{shown(module)} is not in the packages; {f'{hint} ' if hint else ''}{contained}".replace(
        "? they", "? They"
    )


def _is_required(top_level: str, packages: Sequence[PackageModules]) -> bool:
    """Return whether a requirement of the packages has this name, and so may bring the module."""
    names = (
        re.match(r"[A-Za-z0-9._-]+", text.strip()) for package in packages for text in package.requirements
    )
    return any(re.sub(r"[-.]+", "_", name[0]).lower() == top_level.lower() for name in names if name)


def _listed(modules: Collection[str]) -> str:
    listed = [*modules]
    more = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
