# SPDX-License-Identifier: Apache-2.0
"""Checks that a config means the same to the server as the packaged config of a distribution.

    "$(./venv.sh 0.7)" packaged.py CONFIG DISTRIBUTION

It compares the parsed configs, with defaults and without environment, and the text of each provider's entry, with
placeholders. It ignores the order of APIs and providers, and `image_name` if the release has `distro_name`. It prints
each provider and section that differs, and then exits with 1.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import server_package
import yaml
from server_package import ServerPackage


def dump(server: ServerPackage, written: dict[str, Any]) -> dict[str, Any]:
    """Parses a config with the server's config class, without environment."""
    with mock.patch.dict(os.environ, {"HOME": "/home"}, clear=True):
        return server.config_class(**server.replace_env_vars(written)).model_dump(mode="json")


def meaning(server: ServerPackage, path: Path) -> dict[str, Any]:
    """Returns the sections of a config in a comparable form."""
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    sections = dump(server, written)
    # Up to 0.4, image_name is the only name; later, distro_name replaces it.
    if "distro_name" in sections:
        del sections["image_name"]
    sections["apis"].sort()
    del sections["providers"]
    # As written, because the default of ${env.…} differs from a literal of the same value.
    for api, entries in written["providers"].items():
        for entry in entries:
            sections[f"{api} {entry['provider_id']} {entry['provider_type']}"] = entry.get("config") or {}
    sections["storage as written"] = written["storage"]
    sections["shields as written"] = written["registered_resources"].get("shields")
    return sections


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Describes the sections that differ."""
    return [
        f"{section}: here {json.dumps(ours.get(section), sort_keys=True)}\n"
        f"  packaged {json.dumps(theirs.get(section), sort_keys=True)}"
        for section in sorted(ours.keys() | theirs.keys())
        if ours.get(section) != theirs.get(section)
    ]


def main() -> int:
    config, distribution = Path(sys.argv[1]), sys.argv[2]
    warnings.simplefilter("ignore")
    server = server_package.load()
    found = differences(meaning(server, config), meaning(server, server.packaged(distribution)))
    print("\n".join(found) or f"{config} means what {server.package} {server.version} ships as {distribution}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
