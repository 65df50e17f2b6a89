# SPDX-License-Identifier: Apache-2.0
"""The classes of the server, under whichever name its release has them: a package is bound to the releases whose names it knows."""

import importlib
from typing import Any

# Up to 0.3, from 0.4 to 0.7, and from 0.8 on.
DATATYPES = ("ogx_api", "llama_stack_api", "llama_stack.providers.datatypes")
INFERENCE = ("ogx_api", "llama_stack_api", "llama_stack.apis.inference")
MODELS = ("ogx_api", "llama_stack_api", "llama_stack.apis.models")
TOOLS = ("ogx_api", "llama_stack_api", "llama_stack.apis.tools")


def find(modules: tuple[str, ...], name: str) -> Any:
    """The class of this name, from the first module that is there."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {', '.join(modules)} is installed: this package does not know this server")
