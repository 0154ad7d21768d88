"""Rebuild the message definitions that the emulator answers with.

    python scripts/build_descriptors.py [VERSION]

Takes Google's .proto files from the npm package @google-cloud/aiplatform (Apache-2.0), compiles them with
grpcio-tools in a temporary virtual environment (grpcio-tools wants another protobuf than we do), and writes
providers/vertex_training/emulator/descriptors/vertex_ai.binpb.gz. Needs npm, and a PyPI that can be reached.
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
from pathlib import Path

PACKAGE = "@google-cloud/aiplatform"
VERSION = "6.11.0"
PROTO = "google/cloud/aiplatform/v1/job_service.proto"
TARGET = (
    Path(__file__).resolve().parent.parent
    / "providers/vertex_training/emulator/descriptors/vertex_ai.binpb.gz"
)


def common_protos() -> Path:
    """The folder `google` of the installed googleapis-common-protos."""
    spec = importlib.util.find_spec("google.api.http_pb2")
    if spec is None or spec.origin is None:
        sys.exit("googleapis-common-protos is not installed. Run `make up` first, then use .venv/bin/python.")
    return Path(spec.origin).parent.parent


def gather(version: str, folder: Path) -> Path:
    """A tree with all .proto files that the service needs."""
    subprocess.run(["npm", "pack", "--silent", f"{PACKAGE}@{version}"], cwd=folder, check=True)  # noqa: S603, S607
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    tree = folder / "package" / "build" / "protos"
    common = common_protos()
    for name in ("api", "rpc", "type"):
        for proto in (common / name).glob("*.proto"):
            target = tree / "google" / name / proto.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(proto, target)
    operations = tree / "google" / "longrunning" / "operations.proto"
    operations.parent.mkdir(parents=True)
    shutil.copyfile(common / "longrunning" / "operations_proto.proto", operations)
    return tree


def compile_protos(tree: Path, folder: Path) -> bytes:
    """The serialized FileDescriptorSet of the service and all that it imports."""
    tools = folder / "tools"
    venv.create(tools, with_pip=True)
    python = str(tools / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "grpcio-tools"], check=True)  # noqa: S603
    output = folder / "descriptors.binpb"
    command = [python, "-m", "grpc_tools.protoc", f"-I{tree}", "--include_imports"]
    subprocess.run([*command, f"--descriptor_set_out={output}", PROTO], check=True)  # noqa: S603
    return output.read_bytes()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Rebuild the message definitions of the emulator.")
    parser.add_argument("version", nargs="?", default=VERSION, help=f"of {PACKAGE} (default {VERSION})")
    version = parser.parse_args().version
    with tempfile.TemporaryDirectory() as name:
        data = compile_protos(gather(version, Path(name)), Path(name))
    TARGET.write_bytes(gzip.compress(data, compresslevel=9, mtime=0))
    sys.stdout.write(f"{TARGET}: {len(data)} bytes, {TARGET.stat().st_size} compressed\n")


if __name__ == "__main__":
    main()
