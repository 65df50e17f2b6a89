# SPDX-License-Identifier: Apache-2.0
"""The module that the server imports for the provider type."""

from typing import Any

from tiny_provider import server_api


def get_provider_spec() -> Any:
    """Returns the specification of the provider type."""
    api, spec = (server_api.find(server_api.DATATYPES, name) for name in ("Api", "RemoteProviderSpec"))
    return spec(
        api=api.inference,
        provider_type="remote::tiny",
        adapter_type="tiny",
        config_class="tiny_provider.inference.TinyConfig",
        module="tiny_provider.inference",
        pip_packages=[],
    )
