# SPDX-License-Identifier: Apache-2.0
"""The classes of the server, under the names of all supported releases."""

import importlib
from typing import Any

# From 0.8 on, from 0.4 to 0.7, and up to 0.3.
DATATYPES = ("ogx_api", "llama_stack_api", "llama_stack.providers.datatypes")
INFERENCE = ("ogx_api", "llama_stack_api", "llama_stack.apis.inference")
MODELS = ("ogx_api", "llama_stack_api", "llama_stack.apis.models")
TOOLS = ("ogx_api", "llama_stack_api", "llama_stack.apis.tools")


def find(modules: tuple[str, ...], name: str) -> Any:
    """Returns the class from the first installed module."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {', '.join(modules)} is installed: this package does not know this server")
