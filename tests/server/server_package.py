# SPDX-License-Identifier: Apache-2.0
"""Access to the server package that is installed in this Python.

Only this module knows the package's name (llama_stack up to 0.7, ogx from 0.8 on) and its layout.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

# Import name to name of the installed package.
PACKAGES = {"llama_stack": "llama-stack", "ogx": "ogx"}


@dataclass(frozen=True)
class ServerPackage:
    """The server's functions and classes, by their names in the newest release."""

    package: str
    version: str
    home: Path
    """Folder of the package."""
    config_class: type[BaseModel]
    """Class of the whole config.yaml."""
    replace_env_vars: Callable[[Any], Any]
    """Resolves each ${env.…} of a tree from os.environ; raises if a variable without default is not set."""
    provider_registry: Callable[[Any], Mapping[Any, Mapping[str, Any]]]
    """Config to API to provider type to specification, with the config's external providers."""
    load_class: Callable[[str], type[BaseModel]]
    """Dotted name of a class to the class."""
    api_names: frozenset[str]
    """The APIs that are valid under `apis`."""
    internal_apis: frozenset[str]
    """APIs that are always served and cannot be configured."""
    routing: Mapping[str, str]
    """API of a router to the API of its routing table (inference to models)."""
    kv_reference: type[Any]
    sql_reference: type[Any]
    storage: ModuleType
    """The module of the storage classes."""
    registered_everywhere: bool
    """A model of provider `all` is registered with every provider (from 0.8 on)."""
    apis_must_be_served: bool
    """The server refuses an API under `apis` that no provider serves (up to 1.4), instead of skipping it."""
    drops_tool_groups: bool
    """The server replaces registered tool groups with its own (from 0.7 on)."""
    registers_vector_stores: bool
    """The server registers the vector stores of its config (from 0.4 on)."""
    resource_types: list[str]
    """The resource types for rules of policies, sorted."""
    demands_tls: bool
    """The server needs TLS or server.insecure to start (from 1.2 on)."""

    def packaged(self, distribution: str) -> Path:
        """Returns the packaged config of a distribution; up to 0.3, its name is run.yaml."""
        folder = self.home / "distributions" / distribution
        newer = folder / "config.yaml"
        return newer if newer.is_file() else folder / "run.yaml"

    def command_line(self) -> Callable[[], Any]:
        """Imports the server, and returns the entry point of the package's command."""
        importlib.import_module(f"{self.package}.core.server.server")
        return importlib.import_module(f"{self.package}.cli.{self.package.removesuffix('_stack')}").main

    def core_modules(self) -> Iterator[str]:
        """Returns the names of the server's modules without providers."""
        return (module.name for module in pkgutil.walk_packages([str(self.home / "core")], f"{self.package}.core."))


def load() -> ServerPackage:
    """Finds the installed server, or raises ImportError."""
    for package, installed_name in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            # Read on import. The findings replace the server's log.
            os.environ.setdefault(f"{package.upper()}_LOGGING", "all=error")
            return _load(package, importlib.metadata.version(installed_name), Path(spec.origin).parent)
    raise ImportError(f"none of {', '.join(PACKAGES.values())} is installed in this Python")


def _load(package: str, version: str, home: Path) -> ServerPackage:
    datatypes, distribution, stack, storage, dynamic = (
        importlib.import_module(f"{package}.core.{name}")
        for name in ("datatypes", "distribution", "stack", "storage.datatypes", "utils.dynamic")
    )
    # Up to 0.3, the name of the class is StackRunConfig.
    config_class = getattr(datatypes, "StackConfig", None) or datatypes.StackRunConfig
    return ServerPackage(
        package=package,
        version=version,
        home=home,
        config_class=config_class,
        replace_env_vars=stack.replace_env_vars,
        provider_registry=distribution.get_provider_registry,
        load_class=dynamic.instantiate_class_type,
        api_names=frozenset(api.value for api in distribution.stack_apis()),
        internal_apis=frozenset(api.value for api in distribution.INTERNAL_APIS),
        routing={
            info.router_api.value: info.routing_table_api.value
            for info in distribution.builtin_automatically_routed_apis()
        },
        kv_reference=storage.KVStoreReference,
        sql_reference=storage.SqlStoreReference,
        storage=storage,
        registered_everywhere=package == "ogx",
        # The release that made the list optional also skips unserved APIs.
        apis_must_be_served=config_class.model_fields["apis"].get_default(call_default_factory=True) is not None,
        drops_tool_groups=bool(datatypes.RegisteredResources.model_fields["tool_groups"].deprecated),
        registers_vector_stores=any(table[0] == "vector_stores" for table in stack.RESOURCES),
        resource_types=_resource_types(package),
        demands_tls="insecure" in datatypes.ServerConfig.model_fields,
    )


def _resource_types(package: str) -> list[str]:
    # From 0.4 on, the APIs are a separate package.
    for name in (f"{package}_api.resource", f"{package}.apis.resource"):
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        return sorted(member.value for member in module.ResourceType)
    raise ImportError("no module has the types of resources")
