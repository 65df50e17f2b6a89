# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the configuration classes of the server in this Python, for internal/serverconfig/catalog.

    "$(tests/server/venv.sh 1.5)" hack/catalog/introspect.py

It imports the package's registry and config classes, and prints YAML names, types, defaults and required fields, without
descriptions and prompts. The output depends only on the package, with an empty environment and the home directory `~`.
"""

import contextlib
import enum
import json
import os
import re
import sys
import types
import typing
import warnings
from pathlib import Path
from typing import Any

HOME = "/nonexistent-home"
os.environ.clear()
os.environ["HOME"] = HOME
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "server"))

import packaged  # noqa: E402
import server_package  # noqa: E402
import yaml  # noqa: E402
from ignored import yaml_keys  # noqa: E402
from pydantic import AnyUrl, BaseModel, SecretStr  # noqa: E402
from pydantic.fields import FieldInfo  # noqa: E402
from pydantic_core import PydanticUndefined  # noqa: E402
from server_package import ServerPackage  # noqa: E402

# A longer default is a text such as a prompt, not a setting.
LONGEST_DEFAULT = 100
# Fields with a secret, whatever their class.
SECRET_NAMES = re.compile(r"(^|_)(api_key|apikey|api_token|token|secret|password|access_key|secret_key|session_token)$")
NOT_SECRET_NAMES = re.compile(r"^(max_|num_)|_(path|file|url)$")


class Introspection:
    """Describes the classes of one server package."""

    def __init__(self, server: ServerPackage) -> None:
        self.server = server
        self.objects: dict[str, dict[str, Any]] = {}
        self._names: dict[tuple[tuple[type[BaseModel], ...], str], str] = {}

    def fields(self, model: type[BaseModel]) -> dict[str, Any]:
        """Returns the fields of a class by every key that sets them; further keys refer to the first by aliasOf."""
        described: dict[str, Any] = {}
        for name, info in model.model_fields.items():
            # A class excludes inherited fields that must not be set.
            if info.exclude and info.validation_alias is None:
                continue
            first, *others = yaml_keys(name, info, model)
            described[first] = self._field(first, info)
            for other in others:
                described[other] = {**described[first], "aliasOf": first}
        return described

    def _field(self, name: str, info: FieldInfo) -> dict[str, Any]:
        field = {**self._type(info.annotation, info.discriminator), **_bounds(info)}
        if field["type"] == "string" and SECRET_NAMES.search(name) and not NOT_SECRET_NAMES.search(name):
            field["secret"] = True
        if info.is_required():
            field["required"] = True
        default = _scalar(info.default)
        if type(None) in _members(info.annotation) and (info.is_required() or default is not None):
            field["nullable"] = True
        if type(None) not in _members(info.annotation) and not info.is_required() and default is None:
            field["notNull"] = True
        if default is not None and not field.get("secret"):
            field["default"] = default
        return field

    def _type(self, annotation: Any, discriminator: Any = None) -> dict[str, Any]:
        kinds = [k for k in _members(annotation) if k is not type(None)]
        models = tuple(k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
        discriminator = discriminator or _discriminator(annotation)
        described = [self._model(models, discriminator if isinstance(discriminator, str) else "")] if models else []
        described += [self._single(kind) for kind in kinds if kind not in models]
        if len(described) == 1:
            return described[0]
        names = list(dict.fromkeys(each["type"] for each in described))
        if not names or "any" in names:
            return {"type": "any"}
        several: dict[str, Any] = {"type": names[0]} if len(names) == 1 else {"type": "any", "anyOf": names}
        # A property is kept if all alternatives of its type have it.
        for key, kinds_with in (("values", ("string",)), ("object", ("map", "list")), ("elements", ("map", "list"))):
            told = [each.get(key) for each in described if each["type"] in kinds_with]
            if key == "values" and all(told):
                several[key] = list(dict.fromkeys(value for values in told for value in values))
            elif told and told[0] and all(each == told[0] for each in told):
                several[key] = told[0]
        return several

    def _single(self, kind: Any) -> dict[str, Any]:
        origin = typing.get_origin(kind)
        arguments = typing.get_args(kind)
        if origin in (list, set):
            return {"type": "list", **self._elements(arguments[0])}
        if origin is tuple:
            return {"type": "list"}
        if origin is dict:
            elements = self._elements(arguments[1])
            # An object has the fields of the map itself.
            return {"type": "map", **({"elements": "map"} if "object" in elements else elements)}
        if origin is typing.Literal:
            return {"type": "string", "values": [str(_value(v)) for v in arguments]}
        if not isinstance(kind, type):
            return {"type": "any"}
        if issubclass(kind, enum.Enum):
            return {"type": "string", "values": [str(member.value) for member in kind]}
        if issubclass(kind, SecretStr):
            return {"type": "string", "secret": True}
        if issubclass(kind, AnyUrl):
            return {"type": "url"}
        for known, name in ((bool, "bool"), (int, "int"), (float, "float"), (list, "list"), (dict, "map")):
            if issubclass(kind, known):
                return {"type": name}
        return {"type": "string"} if issubclass(kind, str | Path) else {"type": "any"}

    def _elements(self, annotation: Any) -> dict[str, Any]:
        """Returns the type of the items of a list or of the values of a map, or {} if they have several."""
        element = self._type(annotation)
        if type(None) in _members(annotation) or element["type"] == "any":
            return {}
        if "object" in element:
            return {"object": element["object"]}
        return {"elements": element["type"], **({"values": element["values"]} if "values" in element else {})}

    def _model(self, models: tuple[type[BaseModel], ...], discriminator: str) -> dict[str, Any]:
        described: dict[str, Any] = {"type": "map"}
        for store, reference in (("kv", self.server.kv_reference), ("sql", self.server.sql_reference)):
            if all(issubclass(model, reference) for model in models):
                described["store"] = store
        if models not in (((self.server.kv_reference),), ((self.server.sql_reference),)):
            described["object"] = self._object(models, discriminator)
        return described

    def _object(self, models: tuple[type[BaseModel], ...], discriminator: str) -> str:
        """Adds the fields of a class, or of all classes of a union, to objects, and returns their name there.

        If a field of the map selects the class, fields that only some classes have list the values of that field.
        """
        if (models, discriminator) in self._names:
            return self._names[models, discriminator]
        name = "|".join(model.__name__ for model in models)
        number = 2
        unique = name
        while unique in self._names.values():
            unique, number = f"{name}{number}", number + 1
        self._names[models, discriminator] = unique
        each = [self.fields(model) for model in models]
        merged: dict[str, Any] = {}
        for fields in each:
            for key, field in fields.items():
                known = merged.setdefault(key, dict(field))
                if known["type"] != field["type"]:
                    known["type"] = "any"
                if "values" in known and "values" in field:
                    known["values"] = known["values"] + [v for v in field["values"] if v not in known["values"]]
                if known.get("default") != field.get("default"):
                    known.pop("default", None)
        for key, field in merged.items():
            having = [fields for fields in each if key in fields]
            if not all(fields.get(key, {}).get("required") for fields in (having if discriminator else each)):
                field.pop("required", None)
            if discriminator and len(having) < len(each):
                field["only"] = [value for fields in having for value in fields[discriminator]["values"]]
        if discriminator:
            merged[discriminator].update({"required": True, "chooses": True})
        self.objects[unique] = merged
        return unique

    def providers(self) -> dict[str, Any]:
        """Returns all provider types by API."""
        registry = self.server.provider_registry(None)
        return {
            api.value: {name: self._provider(spec) for name, spec in sorted(specs.items())}
            for api, specs in sorted(registry.items(), key=lambda item: item[0].value)
        }

    def _provider(self, spec: Any) -> dict[str, Any]:
        described: dict[str, Any] = {
            "fields": self.fields(self.server.load_class(spec.config_class)),
            "needs": sorted(api.value for api in spec.api_dependencies),
            "uses": sorted(api.value for api in spec.optional_api_dependencies),
            "toolGroup": getattr(spec, "toolgroup_id", None) or "",
            "deprecated": bool(spec.deprecation_warning),
            "refused": bool(spec.deprecation_error),
        }
        return {key: value for key, value in described.items() if value or key == "fields"}

    def storage(self) -> dict[str, Any]:
        """Returns the backends, and the stores with their kind and default storage location."""
        backends = {}
        for model in vars(self.server.storage).values():
            kind = isinstance(model, type) and issubclass(model, BaseModel) and model.model_fields.get("type")
            if kind and "backend" not in model.model_fields:
                fields = self.fields(model)
                backends[str(_value(typing.get_args(kind.annotation)[0]))] = {
                    "fields": {name: field for name, field in fields.items() if name != "type"}
                }
        stores = {}
        for name, info in self.server.storage.ServerStoresConfig.model_fields.items():
            store = {key: value for key, value in self._type(info.annotation).items() if key in ("store", "object")}
            default = info.get_default(call_default_factory=True)
            if default is not None:
                store["default"] = default.model_dump()
            stores[name] = store
        return {"backends": backends, "stores": stores}

    def apis(self) -> dict[str, Any]:
        """Returns all APIs that a config can name, with their routing tables."""
        tables = set(self.server.routing.values())
        return {
            name: {"table": self.server.routing.get(name, "")}
            for name in sorted(self.server.api_names - tables - self.server.internal_apis)
        }


def _members(annotation: Any) -> list[Any]:
    """Returns the alternatives of a type, without Annotated."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [member for each in typing.get_args(annotation) for member in _members(each)]
    return [annotation]


def _discriminator(annotation: Any) -> Any:
    """Returns the discriminator of a union, or None."""
    if typing.get_origin(annotation) is typing.Annotated:
        alternatives, *metadata = typing.get_args(annotation)
        for each in metadata:
            if isinstance(each, FieldInfo) and each.discriminator:
                return each.discriminator
        return _discriminator(alternatives)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return next(filter(None, map(_discriminator, typing.get_args(annotation))), None)
    return None


def _metadata(annotation: Any) -> list[Any]:
    """Returns the metadata of Annotated for a type or its alternatives."""
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        return metadata + _metadata(inner)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [each for alternative in typing.get_args(annotation) for each in _metadata(alternative)]
    return []


def _bounds(info: FieldInfo) -> dict[str, Any]:
    """Returns the limits of a number."""
    kinds = {kind for kind in _members(info.annotation) if kind is not type(None)}
    if kinds not in ({int}, {float}):
        return {}
    bounds: dict[str, Any] = {}
    for each in [*info.metadata, *_metadata(info.annotation)]:
        if hasattr(each, "ge"):
            bounds["min"] = each.ge
        if hasattr(each, "le"):
            bounds["max"] = each.le
        if hasattr(each, "gt"):
            bounds |= {"min": each.gt + 1} if kinds == {int} else {"above": each.gt}
        if hasattr(each, "lt"):
            if kinds != {int}:
                raise ValueError(f"the catalog has no word for {info}")
            bounds["max"] = each.lt - 1
    return bounds


def _value(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _scalar(default: Any) -> Any:
    default = _value(default)
    if default is PydanticUndefined or default is None:
        return None
    if isinstance(default, AnyUrl | Path):
        default = str(default)
    if isinstance(default, str):
        default = default.replace(HOME, "~")
        return default if 0 < len(default) <= LONGEST_DEFAULT and "\n" not in default else None
    return default if isinstance(default, bool | int | float) else None


def environment(server: ServerPackage) -> dict[str, str]:
    """Returns the environment variables for the server's port, log levels and home, and the prefix for metrics."""

    def only(name: str, *files: str) -> str:
        sources = "".join((server.home / file).read_text(encoding="utf-8") for file in files)
        found = sorted(set(re.findall(rf'(?:getenv|environ\.get)\("([A-Z_]*_{name})"', sources)))
        found = [variable for variable in found if "_UI_" not in variable]
        if len(found) != 1:
            raise ValueError(f"not one variable *_{name} in {', '.join(files)}: {found}")
        return found[0]

    return {
        "port": only("PORT", "cli/stack/run.py"),
        "log": only("LOGGING", "log.py"),
        "home": only("CONFIG_DIR", "core/utils/config_dirs.py"),
        "metrics": metrics_prefix(server),
    }


def metrics_prefix(server: ServerPackage) -> str:
    """Returns the prefix of the variables for the server's metrics port, or "" without such a port."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (server.home / "telemetry").glob("*.py"))
    found = {prefix for prefix, _ in re.findall(r'environ\.get\("([A-Z_]+_METRICS)_(ENDPOINT_ENABLED|HOST|PORT)"', sources)}
    if len(found) > 1:
        raise ValueError(f"more than one set of variables about metrics: {sorted(found)}")
    return found.pop() if found else ""


def behaviour(server: ServerPackage) -> dict[str, bool]:
    """Returns properties of the server's code that its config classes do not show."""

    def stands(text: str, file: str) -> bool:
        return text in (server.home / file).read_text(encoding="utf-8")

    models, tenants = "core/routing_tables/models.py", "core/storage/sqlstore/authorized_sqlstore.py"
    by_backend_name = stands('identifier = f"{provider_id}/{provider_model_id}"', models)
    by_model_id = stands('identifier = f"{provider_id}/{model_id}"', models)
    if by_backend_name == by_model_id:
        raise ValueError(f"{models} does not tell by which name a registered model is served")
    return {
        # Several workers share one socket with one address, so a default list of addresses fails.
        "hostForWorkers": stands("config.server.host or [", "cli/stack/run.py"),
        # The workers read the resolved config, the only temporary file that the command writes.
        "writesConfig": stands("tempfile.", "cli/stack/run.py"),
        "servesModelID": by_model_id,
        # The column must be qualified, because it is ambiguous for PostgreSQL in an upsert.
        "tenantsBreakPostgres": (server.home / tenants).is_file()
        and stands("tenant_id = :", tenants)
        and not stands('"{table}"."tenant_id"', tenants),
        "verifiesAuthTLS": stands("verify_tls=False in auth provider config", "core/server/server.py"),
    }


def default_storage(server: ServerPackage) -> bool:
    """Reports whether a config without the section storage keeps its state below SQLITE_STORE_DIR."""
    section = server.config_class.model_fields["storage"]
    if section.is_required():
        return False
    os.environ["SQLITE_STORE_DIR"] = "/state"
    try:
        backends = section.get_default(call_default_factory=True).backends
    finally:
        del os.environ["SQLITE_STORE_DIR"]
    return all(str(backend.db_path).startswith("/state/") for backend in backends.values())


def rules(server: ServerPackage) -> dict[str, Any]:
    """Returns the patterns and conditions that access policies support, as found in the code."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in (server.home / "core" / "access_control").glob("*.py")}
    routes = sources.get("route_access.py", "") + (server.home / "core" / "server" / "auth.py").read_text(encoding="utf-8")
    regex = 'startswith("regex:")'
    return {
        "regexResources": regex in sources["access_control.py"],
        "regexPaths": regex in routes,
        "unowned": '"unowned"' in sources["conditions.py"],
        "resources": server.resource_types,
    }


def starter(server: ServerPackage, distribution: str) -> dict[str, Any]:
    """Returns a packaged config without ignored keys and values that equal the server's defaults."""
    path = server.packaged(distribution)
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    whole = packaged.dump(server, written)
    for section in ("registered_resources", "vector_stores", "safety"):
        for key in list(written.get(section) or {}):
            shorter = {**written, section: {k: v for k, v in written[section].items() if k != key}}
            # Empty lists of resources stay, as a template for users.
            known = section != "registered_resources" or not isinstance(whole[section].get(key), list)
            if known and packaged.dump(server, shorter) == whole:
                written = shorter
    return written


def distributions(server: ServerPackage) -> dict[str, Any]:
    """Returns the unchanged configs of the other supported distributions in the package."""
    paths = {name: server.packaged(name) for name in ("meta-reference-gpu", "postgres-demo")}
    return {name: yaml.safe_load(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.is_file()}


def main() -> int:
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        server = server_package.load()
        about = Introspection(server)
        answer = {
            "package": server.package.replace("_", "-"),
            "release": server.version,
            "env": environment(server),
            "needsInsecure": server.demands_tls,
            "defaultStorage": default_storage(server),
            "registeredEverywhere": server.registered_everywhere,
            "apisMustBeServed": server.apis_must_be_served,
            **behaviour(server),
            "apis": about.apis(),
            "internal": sorted(server.internal_apis),
            "sections": about.fields(server.config_class),
            "providers": about.providers(),
            "storage": about.storage(),
            "rules": rules(server),
            "toolGroupsRegistered": not server.drops_tool_groups,
            "vectorStoresRegistered": server.registers_vector_stores,
            "starter": starter(server, "starter"),
            "distributions": distributions(server),
        }
        answer["objects"] = about.objects
    json.dump(answer, sys.stdout, indent=1, sort_keys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
