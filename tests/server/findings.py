# SPDX-License-Identifier: Apache-2.0
"""Findings, and the paths by which they name a place in a config.yaml."""

from dataclasses import dataclass
from typing import Any, Literal

# The key that names an entry of a list better than its position does.
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
    """One thing that is wrong with a config.

    ignored: the server would start and not do what is written. failure: the server would not start, or not serve it.
    """

    kind: Literal["ignored", "failure"]
    path: str
    message: str


def child(path: str, key: str) -> str:
    """The path of a key of a mapping."""
    return f"{path}.{key}" if path else key


def item(path: str, index: int, entry: Any) -> str:
    """The path of an entry of a list: by its id where it has one, else by its position."""
    if isinstance(entry, dict):
        # A model's own id comes before that of its provider.
        for key in (*ID_KEYS[1:], ID_KEYS[0]):
            if entry.get(key):
                return f"{path}[{entry[key]}]"
    return f"{path}[{index}]"
