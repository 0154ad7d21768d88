"""Images for tests: layers built manually and pushed to an emulator's registry."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.emulated.job_emulator import JobEmulator
from vertex_emulator.replicas.images.stand_ins import LABEL
from vertex_emulator.services.container_registry.registry import Registry

REPOSITORY = "gcr.io/local/trainer"
BASE = "gcr.io/deeplearning-platform-release/tf2-gpu.2-8:latest"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def tar(files: Mapping[str, str | bytes | None] | Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Return an archive of texts by path; None is a folder, "-> x" a symbolic link. Or of given members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, data in map(_member, files.items()) if isinstance(files, Mapping) else files:
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return out.getvalue()


def _member(item: tuple[str, str | bytes | None]) -> tuple[tarfile.TarInfo, bytes]:
    name, content = item
    info = tarfile.TarInfo(name)
    info.mode = 0o755
    if content is None:
        info.type = tarfile.DIRTYPE
        return info, b""
    if isinstance(content, str) and content.startswith("-> "):
        info.type, info.linkname = tarfile.SYMTYPE, content[3:]
        return info, b""
    data = content.encode() if isinstance(content, str) else content
    info.size = len(data)
    return info, data


def member(
    name: str, kind: bytes = tarfile.REGTYPE, *, target: str = "", data: bytes = b"x", mode: int = 0o644
):
    """Return one archive entry, whose name, kind and target may be hostile."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, mode
    info.size = len(data) if kind == tarfile.REGTYPE else 0
    return info, data if kind == tarfile.REGTYPE else b""


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def packed(layer: bytes) -> bytes:
    """Return the blob of a layer."""
    return gzip.compress(layer, mtime=0)


def push(
    registry: Registry,
    *layers: bytes,
    repository: str = REPOSITORY,
    tag: str = "1",
    stand_in: str | None = BASE,
    architecture: str = ARCHITECTURE,
    os: str = "linux",
    **config: Any,
) -> str:
    """Push an image of these layers. Return its name. `config` has Entrypoint, Cmd, Env and so on."""
    blobs = [packed(layer) for layer in layers]
    if stand_in is not None:
        config.setdefault("Labels", {})[LABEL] = stand_in
    document = json.dumps(
        {
            "architecture": architecture,
            "os": os,
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        }
    ).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _descriptor("application/vnd.oci.image.config.v1+json", document),
        "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar+gzip", blob) for blob in blobs],
    }
    for blob in (document, *blobs):
        registry.put_blob(repository, blob)
    registry.put_manifest(repository, tag, MANIFEST, json.dumps(manifest).encode())
    return f"{repository}:{tag}"


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": digest(data), "size": len(data)}


def registry(emulator: JobEmulator) -> Registry:
    return emulator.daemon.registry.registry


def of(image: str, *, replicas: int = 1, **task: Any) -> dict[str, Any]:
    """Return a pool whose replicas run an image."""
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": replicas,
        "containerSpec": {"imageUri": image, **task},
    }


def succeeded(emulator: JobEmulator, *pools: dict[str, Any]) -> str:
    name = emulator.create(*pools)
    found = emulator.wait(name)
    assert found["state"] == "JOB_STATE_SUCCEEDED", (found, emulator.printed(name))
    return name


def notice(emulator: JobEmulator, name: str, task: str = "workerpool0-0") -> str:
    found = emulator.entries(name, f'resource.labels.task_name="{task}"')[0]
    assert found["severity"] == "NOTICE"
    return str(found["jsonPayload"]["message"])


PROGRAM = r"""
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
int main(int count, char **words) {
  for (int i = 1; i < count; i++) {
    char *word = words[i] + 2, buffer[4096];
    switch (words[i][0]) {
      case 'l': {  /* l:FOLDER lists it */
        DIR *folder = opendir(word);
        struct dirent *entry;
        while (folder && (entry = readdir(folder)))
          if (entry->d_name[0] != '.') printf("%s/%s\n", word, entry->d_name);
        break;
      }
      case 'r': {  /* r:FILE prints it */
        FILE *file = fopen(word, "r");
        if (!file) { printf("no %s\n", word); break; }
        while (fgets(buffer, sizeof buffer, file)) fputs(buffer, stdout);
        fclose(file);
        break;
      }
      case 'w': {  /* w:FILE writes it */
        FILE *file = fopen(word, "w");
        printf("%s %s\n", file ? "wrote" : "cannot write", word);
        if (file) { fputs("written\n", file); fclose(file); }
        break;
      }
      case 'e': printf("%s=%s\n", word, getenv(word) ? getenv(word) : "(unset)"); break;
      case 'i': printf("user %d group %d in %s\n", getuid(), getgid(), getcwd(buffer, sizeof buffer)); break;
    }
  }
  return 0;
}
"""


def static_program(folder: Path) -> bytes:
    """Compile a static program that lists, reads and writes the files that its arguments name."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None, "tests of images with a root of their own need a C compiler"
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "-static", "-O1", "-o", "program", "program.c"], cwd=folder, check=True)
    return (folder / "program").read_bytes()
