"""Which modules of an archive `python -m` can run, and which of them is meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def runnable(paths: Iterable[str], *, top_level: Collection[str] | None = None) -> tuple[str, ...]:
    """Every module that `python -m` can run, sorted.

    `paths` are relative to the folder that holds the top-level packages. With `top_level`, only modules in
    packages of these names, and modules of these names, count. A package counts when it has `__main__.py`.
    """
    found = set()
    for path in paths:
        if not path.endswith(".py"):
            continue
        parts = path.removesuffix(".py").split("/")
        if parts[-1] == "__main__":
            parts.pop()
        if not parts or parts[-1] == "__init__" or not all(part.isidentifier() for part in parts):
            continue
        if top_level is None or parts[0] in top_level:
            found.add(".".join(parts))
    return tuple(sorted(found))


def entry_module(modules: Collection[str]) -> str | None:
    """The module that a training job is most likely to run: `<package>.task`, else a package that runs.

    "task" is the name in the Vertex AI documentation, "Create a Python training application". None where
    there is no such module, or more than one.
    """
    tasks = [name for name in modules if name == "task" or name.endswith(".task")]
    for candidates in ([name for name in tasks if name.count(".") <= 1], tasks):
        if len(candidates) == 1:
            return candidates[0]
    if tasks:
        return None
    packages = [name for name in modules if "." not in name]
    if len(packages) == 1 and not packages[0].startswith("_"):
        return packages[0]
    return next(iter(modules)) if len(modules) == 1 else None
