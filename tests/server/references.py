# SPDX-License-Identifier: Apache-2.0
"""Checks references between parts of a config, which the server checks only while it boots."""

from collections.abc import Iterator, Mapping
from typing import Any

from findings import Finding, child, item
from pydantic import BaseModel
from server_package import ServerPackage

# The API that serves each list of registered_resources.
API_OF_RESOURCE = {
    "models": "inference",
    "shields": "safety",
    "vector_stores": "vector_io",
    "datasets": "datasetio",
    "scoring_fns": "scoring",
    "benchmarks": "eval",
    "tool_groups": "tool_runtime",
}

DISABLED = "__disabled__"
ALL = "all"


def is_on(provider_id: Any) -> bool:
    """Reports whether a provider, or the provider of a resource, is enabled."""
    return bool(provider_id) and provider_id != DISABLED


def unknown_apis(server: ServerPackage, config: Any) -> Iterator[Finding]:
    """Finds names under `apis` that this release does not have."""
    for name in config.apis or []:
        if name not in server.api_names:
            known = ", ".join(sorted(server.api_names))
            yield Finding("failure", "apis", f"no API {name!r} in this release; it has: {known}")


def unserved_apis(
    server: ServerPackage, config: Any, specs: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """Finds known names under `apis` that no provider serves. specs: API to provider id to specification."""
    tables = set(server.routing.values())
    for name in config.apis or []:
        if name not in server.api_names or name in server.routing or name in tables or name in server.internal_apis:
            continue
        if not specs.get(name):
            kind = "failure" if server.apis_must_be_served else "ignored"
            yield Finding(kind, "apis", f"no provider serves the API {name!r}")


def missing_tls(server: ServerPackage, config: Any) -> Iterator[Finding]:
    """Finds a missing TLS setting without which the server does not start."""
    if not server.demands_tls or config.server.insecure:
        return
    if not (config.server.tls_certfile and config.server.tls_keyfile):
        yield Finding("failure", "server", "neither tls_certfile with tls_keyfile nor insecure: true is given")


def missing_dependencies(
    server: ServerPackage, config: Any, specs: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """Finds APIs that a provider requires and that are not served. specs: API to provider id to specification."""
    serve = set(config.apis or []) or set(config.providers) | set(server.routing)
    routed = {api for api in server.routing if api in serve}
    there = server.internal_apis | routed | {server.routing[api] for api in routed}
    there |= {api for api, by_id in specs.items() if by_id and api not in server.routing}
    for api, by_id in specs.items():
        for provider_id, spec in by_id.items():
            for needed in spec.api_dependencies:
                if needed.value not in there:
                    path = f"providers.{api}[{provider_id}]"
                    yield Finding("failure", path, f"needs the API {needed.value!r}, which nothing here serves")


def broken_backends(server: ServerPackage, config: Any, parsed: Any, path: str) -> Iterator[Finding]:
    """Finds missing storage backends of a parsed provider config, and those of the other kind."""
    if not isinstance(parsed, BaseModel):
        return
    for kind, reference in (("kv_", server.kv_reference), ("sql_", server.sql_reference)):
        if isinstance(parsed, reference):
            backend = config.storage.backends.get(parsed.backend)
            if backend is None:
                known = ", ".join(sorted(config.storage.backends))
                message = f"no storage backend {parsed.backend!r}; there is: {known}"
                yield Finding("failure", child(path, "backend"), message)
            elif not backend.type.value.startswith(kind):
                message = f"storage backend {parsed.backend!r} is {backend.type.value}, a {kind}* one is needed"
                yield Finding("failure", child(path, "backend"), message)
    for name in type(parsed).model_fields:
        yield from broken_backends(server, config, getattr(parsed, name), child(path, name))


def broken_resources(
    server: ServerPackage, raw: dict[str, Any], provider_ids: Mapping[str, set[str]]
) -> Iterator[Finding]:
    """Finds registered resources that the server skips, or whose provider is missing."""
    for kind, api in API_OF_RESOURCE.items():
        for index, entry in enumerate((raw.get("registered_resources") or {}).get(kind) or []):
            path = item(f"registered_resources.{kind}", index, entry)
            everywhere = server.registered_everywhere and kind == "models" and entry.get("provider_id") == ALL
            if everywhere:
                continue
            if "provider_id" not in entry:
                yield Finding("ignored", path, "the server skips an entry without provider_id")
            elif is_on(entry["provider_id"]) and entry["provider_id"] not in provider_ids.get(api, set()):
                yield _no_provider(child(path, "provider_id"), entry["provider_id"], api, provider_ids)
            if entry.get("model_type") == "embedding" and "embedding_dimension" not in (entry.get("metadata") or {}):
                path = child(path, "metadata.embedding_dimension")
                yield Finding("failure", path, "an embedding model requires its dimension")


def broken_defaults(config: Any, provider_ids: Mapping[str, set[str]]) -> Iterator[Finding]:
    """Finds defaults of vector stores and safety that refer to missing objects."""
    stores = config.vector_stores
    if stores is not None:
        if stores.default_provider_id and stores.default_provider_id not in provider_ids.get("vector_io", set()):
            path = "vector_stores.default_provider_id"
            yield _no_provider(path, stores.default_provider_id, "vector_io", provider_ids)
        for name in ("default_embedding_model", "default_reranker_model"):
            model = getattr(stores, name, None)
            if model is not None and model.provider_id not in provider_ids.get("inference", set()):
                path = f"vector_stores.{name}.provider_id"
                yield _no_provider(path, model.provider_id, "inference", provider_ids)
    safety = getattr(config, "safety", None)
    if safety is not None and safety.default_shield_id:
        shields = {s.shield_id for s in config.registered_resources.shields if is_on(s.provider_id)}
        if shields and safety.default_shield_id not in shields:
            message = f"no shield {safety.default_shield_id!r}; there is: {', '.join(sorted(shields))}"
            yield Finding("failure", "safety.default_shield_id", message)


def _no_provider(path: str, provider_id: str, api: str, provider_ids: Mapping[str, set[str]]) -> Finding:
    known = ", ".join(sorted(provider_ids.get(api, set()))) or "none"
    return Finding("failure", path, f"no {api} provider {provider_id!r} is switched on; there is: {known}")
