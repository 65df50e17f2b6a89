# SPDX-License-Identifier: Apache-2.0
"""Packs a root file system into an image archive with one layer, as `ctr images import` and `docker load` take it.

The same files give the same bytes: order, times and names of owners do not come from this machine.
"""

import argparse
import hashlib
import io
import json
import tarfile
from pathlib import Path

# Filled by the container runtime; device files of the build must not get into the image.
LEFT_EMPTY = ("dev", "proc", "sys", "run")


def cleaned(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Takes out of a member what differs from build to build; None leaves the member out."""
    if member.name.split("/")[0] in LEFT_EMPTY and "/" in member.name:
        return None
    member.mtime = 0
    member.uname = member.gname = ""
    return member


def write_layer(root: Path, out: Path) -> str:
    """Writes the layer and returns the hexadecimal SHA-256 of its bytes."""
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as layer:
        for entry in sorted(root.iterdir()):
            layer.add(entry, arcname=entry.name, filter=cleaned)
    with out.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def image_config(arguments: argparse.Namespace, layer_digest: str) -> bytes:
    """The image's config: what the runtime starts, and the digest of the layer."""
    config = {
        "created": "1970-01-01T00:00:00Z",
        "architecture": arguments.architecture,
        "os": "linux",
        "config": {
            "Entrypoint": [arguments.entrypoint],
            "Env": arguments.env,
            "Labels": dict(label.split("=", 1) for label in arguments.label),
            "WorkingDir": arguments.workdir,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }
    return json.dumps(config).encode()


def add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    archive.addfile(member, io.BytesIO(data))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="folder that becomes the root file system")
    parser.add_argument("out", type=Path, help="archive to write; the layer lies beside it for a moment")
    parser.add_argument("--ref", required=True, help="name and tag of the image")
    parser.add_argument("--architecture", required=True, help="amd64, arm64")
    parser.add_argument("--entrypoint", required=True)
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--env", action="append", default=[], metavar="K=V")
    parser.add_argument("--label", action="append", default=[], metavar="K=V")
    arguments = parser.parse_args()

    layer = arguments.out.with_suffix(".layer")
    layer_digest = write_layer(arguments.root, layer)
    config = image_config(arguments, layer_digest)
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{layer_digest}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": [arguments.ref], "Layers": [layer_name]}]
    with tarfile.open(arguments.out, "w", format=tarfile.GNU_FORMAT) as archive:
        add_bytes(archive, "manifest.json", json.dumps(manifest).encode())
        add_bytes(archive, config_name, config)
        archive.add(layer, arcname=layer_name, filter=cleaned)
    layer.unlink()


if __name__ == "__main__":
    main()
