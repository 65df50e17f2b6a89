# SPDX-License-Identifier: Apache-2.0
"""Findings, and their paths in a config.yaml."""

from dataclasses import dataclass
from typing import Any, Literal

# Keys that identify an entry of a list.
ID_KEYS = (
    "provider_id",
    "model_id",
    "shield_id",
    "vector_store_id",
    "dataset_id",
    "scoring_fn_id",
    "benchmark_id",
    "toolgroup_id",
    "connector_id",
)


@dataclass(frozen=True)
class Finding:
    """A fault of a config.

    ignored: the server starts, but ignores the value. failure: the server does not start, or does not serve it.
    """

    kind: Literal["ignored", "failure"]
    path: str
    message: str


def child(path: str, key: str) -> str:
    """Returns the path of a key of a mapping."""
    return f"{path}.{key}" if path else key


def item(path: str, index: int, entry: Any) -> str:
    """Returns the path of an entry of a list, by its id or else by its position."""
    if isinstance(entry, dict):
        # A model's own id precedes the id of its provider.
        for key in (*ID_KEYS[1:], ID_KEYS[0]):
            if entry.get(key):
                return f"{path}[{entry[key]}]"
    return f"{path}[{index}]"
