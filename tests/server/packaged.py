# SPDX-License-Identifier: Apache-2.0
"""Tells whether a config means the same to the server as the one that its own package ships for a distribution.

    "$(./venv.sh 0.7)" packaged.py CONFIG DISTRIBUTION

Compared is what the server's config class makes of both, defaults included and environment unset, and the text of every
provider's entry, placeholders included. The order of lists of APIs and providers does not count, nor does `image_name` where
the release has `distro_name` instead. Prints every provider and section that differs; exit status 1 when there is one.
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
    """What the server's config class makes of a config, with the environment unset."""
    with mock.patch.dict(os.environ, {"HOME": "/home"}, clear=True):
        return server.config_class(**server.replace_env_vars(written)).model_dump(mode="json")


def meaning(server: ServerPackage, path: Path) -> dict[str, Any]:
    """A config's sections in a form that can be compared."""
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    sections = dump(server, written)
    # Up to 0.4 the image's name is the only name, later it is the old one.
    if "distro_name" in sections:
        del sections["image_name"]
    sections["apis"].sort()
    del sections["providers"]
    # As written, because a default of ${env.…} and a literal of the same value are not the same.
    for api, entries in written["providers"].items():
        for entry in entries:
            sections[f"{api} {entry['provider_id']} {entry['provider_type']}"] = entry.get("config") or {}
    sections["storage as written"] = written["storage"]
    sections["shields as written"] = written["registered_resources"].get("shields")
    return sections


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """What differs, here and packaged."""
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
