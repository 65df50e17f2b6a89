# SPDX-License-Identifier: Apache-2.0
"""Checks that a cache of Hugging Face has the models of a server that downloads none: HUB MODEL...

Without this check, the server starts, and fails only when a client uses the model.
"""

import os
import sys

PREFIX = "models--"
SHOWN = 10


def names(model):
    """The names under which a cache can have a model."""
    yield model
    if "/" not in model:
        yield "sentence-transformers/" + model


def has(hub, model):
    """Reports whether the cache has the revision of a model that the server asks for, main."""
    directory = os.path.join(hub, PREFIX + model.replace("/", "--"))
    try:
        with open(os.path.join(directory, "refs", "main"), encoding="utf-8") as file:
            return bool(os.listdir(os.path.join(directory, "snapshots", file.read().strip())))
    except FileNotFoundError:
        return False


hub, *needed = sys.argv[1:]
try:
    found = sorted(entry[len(PREFIX) :].replace("--", "/") for entry in os.listdir(hub) if entry.startswith(PREFIX))
    found = [model if has(hub, model) else model + " (without revision main)" for model in found]
    missing = [model for model in needed if not any(has(hub, name) for name in names(model))]
except OSError as e:
    sys.exit(f"the model cache cannot be read: {e.strerror}: {os.path.relpath(e.filename, os.path.dirname(hub))}")
if not found:
    sys.exit("the model cache has no models: its directory hub must have a directory models--<organization>--<name> for each")
if missing:
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    sys.exit(f"the model cache does not have {', '.join(missing)}: it has {', '.join(found[:SHOWN])}{more}")
