# SPDX-License-Identifier: Apache-2.0
"""The module that the server imports for the provider type."""

from typing import Any

from tiny_provider import server_api


def get_provider_spec() -> Any:
    """Returns the specification of the provider type."""
    api, spec = (server_api.find(server_api.DATATYPES, name) for name in ("Api", "InlineProviderSpec"))
    return spec(
        api=api.tool_runtime,
        provider_type="inline::tiny-tools",
        config_class="tiny_provider.tools.TinyToolsConfig",
        module="tiny_provider.tools",
        pip_packages=[],
    )
