"""The command and the environment of one replica on this machine.

The environment leads Google's clients and tools to the emulator, where a replica of the service finds Google
Cloud. It has the credentials of a machine's service account, for Google's services in the emulator.
Neither the emulator's token nor its admin paths are open to a replica.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vertex_cluster.legacy import use_legacy_environment
from vertex_emulator.client.addresses import REDIRECT, replica_variables
from vertex_emulator.job_folder.folder import METRIC_FILE
from vertex_emulator.replicas.images import stack
from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.network.addresses import ReplicaAddress
from vertex_emulator.replicas.plan import Plan, ReplicaPlan
from vertex_emulator.replicas.preparation import unpacked_image
from vertex_emulator.replicas.preparation.interpreters import Interpreter
from vertex_emulator.replicas.preparation.packages import private_python
from vertex_emulator.replicas.preparation.packages.build_sandbox import local_sources
from vertex_emulator.replicas.preparation.packages.private_python import SharedPackages
from vertex_emulator.replicas.preparation.services import (
    CERTIFICATES_PATH,
    Services,
    certificates_of,
    proxy_variables,
)
from vertex_emulator.replicas.sandbox import sandbox
from vertex_emulator.replicas.sandbox.linux.network_namespace import NetworkNamespace
from vertex_emulator.replicas.sandbox.mounts import file_shares
from vertex_emulator.replicas.sandbox.program import Command
from vertex_emulator.server.proxy import variables
from vertex_training.fields import uris
from vertex_training.job.custom_job import CustomJobSpec
from vertex_training.replica_environment.job_variables import DEVICES, local_device_variables
from vertex_training.replica_environment.replica import host_name, replica_environment
from vertex_training.topology.pools import WorkerPoolSpec
from vertex_training.topology.variables import expand

REDIRECT_PATH = Path("/run/vertex-training")
"""Path of the folder of `sitecustomize` in a root of the image's own."""


def with_redirect(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Put the folder of `sitecustomize` in front of the entries of PYTHONPATH."""
    present = environment.get("PYTHONPATH", "")
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), present]))}


def make_folder(buckets_dir: Path, address: str) -> None:
    """Create the folder of gs://BUCKET/PREFIX/ below /gcs if the bucket exists; ignore other addresses."""
    try:
        uri = uris.parse(address)
    except ValueError:
        return
    parts = [uri.bucket, *(part for part in uri.name.split("/") if part)]
    if {".", ".."} & set(parts) or not (buckets_dir / uri.bucket).is_dir():
        return
    folder = buckets_dir
    with contextlib.suppress(OSError):  # an object may have the name of one of the folders
        for part in parts:
            folder = folder / part
            if folder.is_symlink():  # a program may have linked to a folder elsewhere
                return
            folder.mkdir(exist_ok=True)


_LOCAL = ("127.0.0.1", "localhost")

_KUBERNETES_PORT = "tcp://192.0.2.1:443"
"""KUBERNETES_PORT, which Kubernetes sets in every container. Lightning up to 2.0 chooses its cluster by it.

No other variable of Kubernetes is set: with KUBERNETES_SERVICE_HOST, clients would call an API server. The
address is one that no machine has (RFC 5737).
"""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """The network of a replica: `addresses` of all replicas in their order, and how it reaches the emulator.

    `network` is its network namespace, and `resolver` its /etc/resolv.conf; None for the machine's.
    """

    addresses: Sequence[ReplicaAddress]
    services: Services | None
    network: NetworkNamespace | None = None
    resolver: str | None = None


def _addresses_by_pool(pools: Sequence[WorkerPoolSpec], addresses: Sequence[str]) -> list[list[str]]:
    """Split the addresses of all replicas into one list for each pool."""
    rest = iter(addresses)
    return [[next(rest) for _ in range(pool.replica_count)] for pool in pools]


def replica_command(
    plan: Plan,
    spec: CustomJobSpec,
    replica: ReplicaPlan,
    *,
    placement: Placement,
    packages: SharedPackages | None,
    folder: Path,
) -> Command:
    """Return the command of a replica; create its own folder, `folder`. Raises `OSError`."""
    names = [
        host_name(plan.job_id, pool, index)
        for pool, each in enumerate(spec.worker_pool_specs)
        for index in range(each.replica_count)
    ]
    certificates = certificates_of(plan)
    interpreter = _interpreter(plan, replica)
    own_root = replica.image is not None and replica.image.root == "own"
    packages = packages or SharedPackages()
    if replica.image is not None and not own_root:
        packages = packages.with_image(replica.image.stand_in, interpreter, plan.images_dir.resolve())
    hidden = plan.data_dir.resolve()
    visible = (
        *sandbox.interpreter_paths(),
        REDIRECT,
        *(() if own_root else (*interpreter.folders, *local_sources(_pip_settings()))),
        *packages.folders,
        *([certificates] if certificates.is_dir() else ()),
    )
    view = sandbox.View(
        folder=folder.resolve(),
        buckets=plan.buckets_dir.resolve(),
        hidden=hidden,
        visible=sandbox.outermost(visible, hidden=hidden),
        hostname=host_name(plan.job_id, replica.pool, replica.index),
        hosts=_hosts({name: each.ip for name, each in zip(names, placement.addresses, strict=True)}),
        resolver=placement.resolver,
        stale_objects=plan.stale_objects,
        image=unpacked_image.image_view(plan, replica.image, folder.resolve()),
        shares={share.at: file_shares.folder_of(share, plan.data_dir) for share in replica.shares},
        shown={
            REDIRECT_PATH: REDIRECT,
            **({CERTIFICATES_PATH: certificates} if certificates.is_dir() else {}),
        },
    )
    sandbox.make_folders(view)
    from_service = replica_environment(
        spec=spec,
        pools=spec.worker_pool_specs,
        addresses=_addresses_by_pool(
            spec.worker_pool_specs, [each.published for each in placement.addresses]
        ),
        pool=replica.pool,
        index=replica.index,
        job_id=plan.job_id,
        project_number=plan.project_number,
        location=plan.location,
        contract=plan.contract,
        base_output_directory=_base_output_directory(plan, spec),
        trial=plan.addition.trial,
        metric_file=_metric_file(plan, view),
    )
    from_service = {**from_service, **plan.addition.variables}
    if spec.tensorboard:
        make_folder(plan.buckets_dir, from_service.get("AIP_TENSORBOARD_LOG_DIR", ""))
    context = _context(plan, replica.image, view, interpreter, packages)
    services = placement.services
    direct = list(dict.fromkeys([*names, *(each.ip for each in placement.addresses)]))
    chosen = {**plan.environment, **from_service}
    own = {**context.variables, **chosen}
    exempt = _exceptions(own, direct)
    proxied: dict[str, str] = {}
    if services is not None and not variables.names_a_proxy(own):
        proxied = proxy_variables(plan, services, own_root=context.own, names=direct, environment=own)
        exempt.update({name: value for name, value in proxied.items() if name in exempt})
    found = (
        {}
        if services is None
        else replica_variables(services.url, services.token, plan.project, proxied=bool(proxied))
    )
    environment = {**context.variables, **found, **proxied, **chosen, **exempt}
    environment.update(local_device_variables(spec.worker_pool_specs[replica.pool], environment))
    with contextlib.suppress(ValueError):  # the variable is the program's own
        use_legacy_environment(environment)
    if services is not None and (not proxied or environment.get(DEVICES, "1") not in ("", "0", "1")):
        environment = with_redirect(environment, REDIRECT_PATH if context.own else REDIRECT)
    argv = tuple(expand(word, from_service) for word in replica.argv)
    return Command(
        argv=argv
        if context.own
        else unpacked_image.with_python(argv, interpreter, view.image.folders if view.image else ()),
        environment=environment,
        cwd=context.cwd,
        make_cwd=context.cwd != view.folder / "work",
        sandbox=plan.sandbox,
        view=view if plan.sandbox.kind == "namespaces" else None,
        network=placement.network,
    )


def _base_output_directory(plan: Plan, spec: CustomJobSpec) -> str | None:
    """Return the base output directory of the job, or for a trial its tuning job's.

    The directory of a trial ends in the number of the trial.
    """
    directory = spec.base_output_directory
    if directory is None or plan.addition.trial is None:
        return directory
    return directory.rstrip("/").removesuffix(f"/{plan.addition.trial}")


def _metric_file(plan: Plan, view: sandbox.View) -> str:
    """Return the path at which a trial's replica reports metrics, as the replica sees it.

    Creates the folder. Raises `OSError`.
    """
    path = view.folder / "tmp" / METRIC_FILE
    if plan.addition.trial is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    return f"/tmp/{METRIC_FILE}" if plan.sandbox.kind == "namespaces" else str(path)  # noqa: S108


@dataclass(frozen=True, kw_only=True)
class _Context:
    """The working directory of a program and the variables of its root or Python.

    `own`: the program has a root of the image's own.
    """

    cwd: Path
    variables: Mapping[str, str]
    own: bool = False


_PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_TRUSTED_HOST")


def _pip_settings() -> dict[str, str]:
    """Return the emulator's settings of the package index, which pip needs in a replica too.

    An address with a password is left out: a replica gets no secrets of this machine.
    """
    settings = {name: os.environ.get(name, "") for name in _PIP}
    return {name: value for name, value in settings.items() if value and "@" not in value}


def _interpreter(plan: Plan, replica: ReplicaPlan) -> Interpreter:
    """Return the interpreter of a replica, which is not used in a root of the image's own.

    Raises `OSError`.
    """
    try:
        return unpacked_image.interpreter_of(plan, replica.image)
    except LookupError as error:
        raise FileNotFoundError(errno.ENOENT, f"this machine has no python{error.args[0]}") from None


def _context(
    plan: Plan,
    image: ReplicaImage | None,
    view: sandbox.View,
    interpreter: Interpreter,
    packages: SharedPackages,
) -> _Context:
    common = {
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // len(plan.replicas))),
        "KUBERNETES_PORT": _KUBERNETES_PORT,
    }
    given = unpacked_image.variables(image) if image is not None else {}
    _copy_temporary_files(view)
    if image is not None and view.image is not None and view.image.own:
        user = (view.image.inside or (0, 0))[0]
        base = {
            "PATH": unpacked_image.SYSTEM_PATH,
            "HOME": unpacked_image.home(view.image.folders, user),
        }
        return _Context(cwd=_working_dir(image), variables={**common, **base, **given}, own=True)
    cwd, python_path, home = view.folder / "work", [], view.folder / "home"
    if image is not None and view.image is not None:
        if plan.sandbox.kind == "namespaces":
            cwd, seen_at = _working_dir(image), Path("/")
            home = unpacked_image.home_on_stand_in(plan, image, view.image.folders) or home
        else:
            cwd, seen_at = unpacked_image.private_copy(plan, image, view.folder), view.folder / "image"
        python_path = unpacked_image.python_path(image, view.image.folders, seen_at=seen_at)
        packages = packages.above(
            unpacked_image.site_packages(view.image.folders, interpreter.minor, seen_at=seen_at)
        )
    programs = private_python.make(view.folder, interpreter, packages)
    _write_profile(plan, view, programs)
    path = [*map(str, programs), given.pop("PATH", unpacked_image.SYSTEM_PATH)]
    variables = {
        **common,
        **private_python.variables(view.folder),
        **_pip_settings(),
        "HOME": str(home),
        "TMPDIR": "/tmp" if plan.sandbox.kind == "namespaces" else str(view.folder / "tmp"),  # noqa: S108
        **given,
        "PATH": os.pathsep.join(path),
    }
    if python_path:
        variables["PYTHONPATH"] = os.pathsep.join(python_path)
    return _Context(cwd=cwd, variables=variables)


def _working_dir(image: ReplicaImage) -> Path:
    return Path("/", os.path.normpath(f"/{image.working_dir}").lstrip("/"))


def _write_profile(plan: Plan, view: sandbox.View, programs: Sequence[Path]) -> None:
    """Let a login shell find the replica's programs, although /etc/profile sets another PATH."""
    if plan.sandbox.kind != "namespaces":
        sandbox.replace_file(view.folder / "home/.profile", private_python.login_profile(programs, ""))
        return
    profile = stack.find(view.image.folders, "etc/profile") if view.image else None
    with contextlib.suppress(OSError):  # without the file, no shell changes PATH
        text = (profile or Path("/etc/profile")).read_text(encoding="utf-8", errors="surrogateescape")
        sandbox.replace_file(view.folder / sandbox.PROFILE, private_python.login_profile(programs, text))


def _copy_temporary_files(view: sandbox.View) -> None:
    """Copy the image's temporary files into the replica's private folders of these."""
    for path, private in (("tmp", "tmp"), ("var/tmp", "var-tmp")):
        if view.image is not None and (sources := stack.folders_at(view.image.folders, path)):
            stack.copy(sources, view.folder / private)


def _exceptions(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the exceptions from proxies, with loopback and the machines of the job in them.

    TensorFlow and JAX send even that traffic to a proxy that the environment names.
    """
    exempt = ("no_proxy", "NO_PROXY")
    added = [name for name in names if name not in _LOCAL]
    return {name: ",".join(filter(None, [environment.get(name, ""), *_LOCAL, *added])) for name in exempt}


def _hosts(addresses: Mapping[str, str]) -> str:
    """Return the host's /etc/hosts with the names of the job's machines added, at their addresses."""
    try:
        text = Path("/etc/hosts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = "127.0.0.1 localhost\n"
    return text.rstrip("\n") + "\n" + "".join(f"{ip} {name}\n" for name, ip in addresses.items())
