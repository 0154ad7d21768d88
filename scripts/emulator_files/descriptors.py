"""Rebuild the message definitions that the emulator answers with.

    python -m scripts.emulator_files.descriptors [SERVICE] ...

Google's .proto files of each service come from its npm package (Apache-2.0), shared ones from the installed
Python packages. They are compiled with grpcio-tools in a temporary virtual environment, because grpcio-tools
needs another version of protobuf. Each service gets a file in FOLDER. Needs npm and access to PyPI.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

FOLDER = (
    Path(__file__).resolve().parents[2]
    / "providers/vertex-emulator/src/vertex_emulator/server/rpc/descriptors"
)


@dataclass(frozen=True)
class Service:
    """Source of the definitions of a service: an npm package, its version, and its main .proto files.

    `folder` is the folder in the package that contains `google`.
    """

    package: str
    version: str
    protos: tuple[str, ...]
    folder: str = "build/protos"


SERVICES = {
    "vertex_ai": Service(
        "@google-cloud/aiplatform",
        "6.11.0",
        tuple(
            f"google/cloud/aiplatform/v1/{name}_service.proto"
            for name in (
                "job",
                "pipeline",
                "model",
                "dataset",
                "persistent_resource",
                "tensorboard",
                "metadata",
                "endpoint",
                "schedule",
            )
        ),
    ),
    "artifact_registry": Service(
        "@google-cloud/artifact-registry",
        "4.7.1",
        ("google/devtools/artifactregistry/v1/service.proto", "google/cloud/location/locations.proto"),
    ),
    # Later versions have no .proto files.
    "logging": Service(
        "@google-cloud/logging",
        "11.2.0",
        ("google/logging/v2/logging.proto", "google/cloud/audit/audit_log.proto"),
    ),
    "resource_manager": Service(
        "@google-cloud/resource-manager",
        "6.3.0",
        ("google/cloud/resourcemanager/v3/projects.proto",),
    ),
    # The package of IAM itself has no service accounts.
    "iam": Service("google-proto-files", "5.0.3", ("google/iam/admin/v1/iam.proto",), folder="."),
    "cloud_scheduler": Service(
        "@google-cloud/scheduler", "5.3.2", ("google/cloud/scheduler/v1/cloudscheduler.proto",)
    ),
    "service_usage": Service(
        "@google-cloud/service-usage",
        "4.2.2",
        (
            "google/api/serviceusage/v1/serviceusage.proto",
            "google/api/serviceusage/v1beta1/serviceusage.proto",
        ),
    ),
    "secret_manager": Service(
        "@google-cloud/secret-manager",
        "6.3.0",
        ("google/cloud/secretmanager/v1/service.proto", "google/cloud/location/locations.proto"),
    ),
    "cloud_quotas": Service(
        "@google-cloud/cloudquotas", "2.4.0", ("google/api/cloudquotas/v1/cloudquotas.proto",)
    ),
    "monitoring": Service(
        "@google-cloud/monitoring", "5.4.0", ("google/monitoring/v3/metric_service.proto",)
    ),
}
SHARED = {
    "google.api.http_pb2": ("api", "rpc", "rpc/context", "type", "cloud/location"),
    "google.iam.v1.policy_pb2": ("iam/v1",),
    "google.cloud.audit.audit_log_pb2": ("cloud/audit",),
}
"""Module of each Python package that has .proto files, with the folders that are needed."""


def folder_of(module: str) -> Path:
    """Return the folder `google` that contains a module."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        sys.exit(f"{module} is not installed. Run `make up` first, then use .venv/bin/python.")
    return Path(spec.origin).parents[module.count(".") - 1]


def gather(service: Service, folder: Path) -> Path:
    """Return a folder with all .proto files that the service needs."""
    folder.mkdir()
    command = ["npm", "pack", "--silent", f"{service.package}@{service.version}"]
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    tree = folder / "package" / service.folder
    for module, names in SHARED.items():
        for name in names:
            for proto in (folder_of(module) / name).glob("*.proto"):
                target = tree / "google" / name / proto.name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(proto, target)
    operations = tree / "google" / "longrunning" / "operations.proto"
    operations.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder_of("google.api.http_pb2") / "longrunning" / "operations_proto.proto", operations)
    return tree


def compiler(folder: Path) -> list[str]:
    """Install a compiler of .proto files, and return its command."""
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "grpcio-tools"], check=True)  # noqa: S603
    return [python, "-m", "grpc_tools.protoc"]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Rebuild the message definitions of the emulator.")
    parser.add_argument("services", nargs="*", metavar="SERVICE", help=f"{', '.join(SERVICES)}; default: all")
    wanted = parser.parse_args().services or list(SERVICES)
    if unknown := sorted(set(wanted) - set(SERVICES)):
        parser.error(f"unknown service {', '.join(unknown)}; the services are {', '.join(SERVICES)}")
    with tempfile.TemporaryDirectory() as name:
        protoc = compiler(Path(name) / "tools")
        for each in wanted:
            tree = gather(SERVICES[each], Path(name) / each)
            output = Path(name) / f"{each}.binpb"
            options = [f"-I{tree}", "--include_imports", f"--descriptor_set_out={output}"]
            subprocess.run([*protoc, *options, *SERVICES[each].protos], check=True)  # noqa: S603
            data = output.read_bytes()
            target = FOLDER / f"{each}.binpb.gz"
            target.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
            sys.stdout.write(f"{target}: {len(data)} bytes, {target.stat().st_size} compressed\n")


if __name__ == "__main__":
    main()
