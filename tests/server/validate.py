# SPDX-License-Identifier: Apache-2.0
"""Validates config.yaml files with the server's own code, without starting it.

Run it with the Python of a virtual environment with the server (venv.sh prints it):

    "$(./venv.sh 0.7)" validate.py [--json] [--loaded] [--base] [--libyaml] [--env K=V]... [--env-file FILE]... [--dummy PREFIX] CONFIG...

For each file, it resolves ${env.…}, builds the server's config class, looks up each enabled provider in the server's
registry, and builds its config class. It reports errors, broken references that fail only at boot, and keys that the
server ignores silently. A base (--base) needs no TLS settings.

Files are read as the server reads them. --libyaml takes a tenth of the time, with the same result for generated
configs.

Only the given environment applies, not the caller's: --env over --env-file over a file named `env` beside the config.
Exit status: 0 all configs are valid, 1 there are findings, 2 the validation itself failed.
"""

import argparse
import contextlib
import json
import os
import re
import sys
import warnings
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import references
import server_package
import yaml
from findings import Finding, child, item
from ignored import ignored, unexpanded, yaml_keys
from pydantic import BaseModel, SecretStr, ValidationError
from server_package import ServerPackage

# Variables that Python and default paths need.
KEPT_VARIABLES = ("HOME", "PATH")


@dataclass
class Verdict:
    """The result for one file."""

    config: str
    providers: list[str] = field(default_factory=list)
    """Validated providers, as api/id."""
    switched_off: int = 0
    findings: list[Finding] = field(default_factory=list)
    is_base: bool = False
    loaded: dict[str, Any] = field(default_factory=dict)
    """Loaded values of each provider's config, by api/id, and of server.auth, with secrets in clear text."""


def validate(
    server: ServerPackage, path: Path, env: dict[str, str], is_base: bool = False, loader: Any = yaml.SafeLoader
) -> Verdict:
    """Validates one file in exactly this environment."""
    verdict = Verdict(str(path), is_base=is_base)
    with mock.patch.dict(os.environ, env, clear=True):
        verdict.findings.extend(_validate(server, path, verdict, loader))
    return verdict


def _validate(server: ServerPackage, path: Path, verdict: Verdict, loader: Any) -> Iterator[Finding]:
    try:
        written = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 one of the two safe ones
    except (OSError, yaml.YAMLError) as error:
        yield Finding("failure", "", f"cannot be read: {error}")
        return
    if not isinstance(written, dict):
        yield Finding("failure", "", "is not a mapping")
        return
    try:
        raw = server.replace_env_vars(written)
    except Exception as error:  # the name of the error class differs between releases
        yield Finding("failure", "", str(error))
        return
    try:
        config = server.config_class(**raw)
    except ValidationError as error:
        yield from _invalid(error, "", raw)
        return
    yield from ignored(raw, config, "")
    yield from unexpanded(raw, "")
    if config.server.auth and config.server.auth.provider_config:
        verdict.loaded["server.auth"] = plain(config.server.auth.provider_config)
    yield from references.unknown_apis(server, config)
    specs: dict[str, dict[str, Any]] = {}
    yield from _providers(server, config, raw, verdict, specs)
    provider_ids = {api: set(by_id) for api, by_id in specs.items()}
    if not verdict.is_base:
        yield from references.missing_tls(server, config)
    yield from references.unserved_apis(server, config, specs)
    yield from references.missing_dependencies(server, config, specs)
    yield from references.broken_resources(server, raw, provider_ids)
    yield from references.broken_defaults(config, provider_ids)


def _providers(
    server: ServerPackage,
    config: Any,
    raw: dict[str, Any],
    verdict: Verdict,
    specs: dict[str, dict[str, Any]],
) -> Iterator[Finding]:
    """Validates the config of each enabled provider, and fills specs (API to provider id to specification)."""
    try:
        registry = {api.value: types for api, types in server.provider_registry(config).items()}
    except Exception as error:  # the module of an external provider can raise any error
        yield Finding("failure", "providers", f"the provider registry cannot be built: {error}")
        return
    for api, entries in raw["providers"].items():
        path = child("providers", api)
        if api not in registry:
            yield Finding("failure", path, f"no such API for providers; there is: {', '.join(sorted(registry))}")
            continue
        by_id = specs.setdefault(api, {})
        for index, entry in enumerate(entries):
            provider_id = entry["provider_id"]
            if not references.is_on(provider_id):
                verdict.switched_off += 1
                continue
            entry_path = item(path, index, entry)
            if provider_id in by_id:
                yield Finding("ignored", entry_path, "a second provider of this id: the last one wins")
            spec = registry[api].get(entry["provider_type"])
            if spec is None:
                message = f"no type {entry['provider_type']!r}; there is: {', '.join(sorted(registry[api]))}"
                yield Finding("failure", child(entry_path, "provider_type"), message)
                continue
            by_id[provider_id] = spec
            verdict.providers.append(f"{api}/{provider_id}")
            at = child(entry_path, "config")
            parsed = yield from _provider_config(server, config, spec, entry.get("config") or {}, at)
            verdict.loaded[f"{api}/{provider_id}"] = plain(parsed)


def _provider_config(
    server: ServerPackage, config: Any, spec: Any, raw: dict[str, Any], path: str
) -> Generator[Finding, None, Any]:
    """Yields the findings of a provider's config, and returns the parsed config or None."""
    if spec.deprecation_error:
        yield Finding("failure", path, spec.deprecation_error)
    try:
        parsed = server.load_class(spec.config_class)(**raw)
    except ValidationError as error:
        yield from _invalid(error, path, raw)
        return None
    except Exception as error:  # a config class can raise any error
        yield Finding("failure", path, f"{type(error).__name__}: {error}")
        return None
    yield from ignored(raw, parsed, path)
    yield from references.broken_backends(server, config, parsed, path)
    return parsed


def plain(value: Any) -> Any:
    """Returns loaded values as JSON types, with the names of YAML and secrets in clear text."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {next(yaml_keys(name, fields[name], type(value))): plain(getattr(value, name)) for name in fields}
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _invalid(error: ValidationError, path: str, raw: Any) -> Iterator[Finding]:
    """Yields a finding for each pydantic error, without the input, which may be a secret."""
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place, node = path, raw
        for step in detail["loc"]:
            if isinstance(step, int):
                node = node[step] if isinstance(node, list) and step < len(node) else None
                place = item(place, step, node)
            else:
                node = node.get(step) if isinstance(node, dict) else None
                place = child(place, step)
        yield Finding("failure", place, detail["msg"])


def read_env(path: Path) -> dict[str, str]:
    """Reads lines K=V, and ignores empty lines and lines that start with #."""
    env: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            env.update([assignment(line)])
    return env


def assignment(text: str) -> tuple[str, str]:
    """Splits K=V."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form K=V")
    return key, value


def dummies(path: Path, prefix: str) -> dict[str, str]:
    """Returns a value for each variable of the file with this prefix: a port or an address if the name says so."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    names = re.findall(r"\$\{env\.(" + re.escape(prefix) + "[A-Z0-9_]*)", text)
    return {name: _dummy(name) for name in names}


def _dummy(name: str) -> str:
    if name.endswith("_PORT"):
        return "5432"
    if name.endswith(("_URL", "_URI", "_ENDPOINT")):
        return "http://dummy.invalid:8000/v1"
    if name.endswith("_CONNECTION_STRING"):
        return "postgresql://dummy:dummy@dummy.invalid:5432/dummy"
    return "dummy"


def environment(path: Path, arguments: argparse.Namespace) -> dict[str, str]:
    """Returns the environment for the validation of a file."""
    env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    if arguments.dummy:
        env |= dummies(path, arguments.dummy)
    beside = path.parent / "env"
    for file in ([beside] if beside.is_file() else []) + arguments.env_file:
        env |= read_env(file)
    return env | dict(arguments.env)


def report(verdicts: list[Verdict]) -> str:
    """Returns the verdicts as text."""
    lines = []
    for verdict in verdicts:
        count = f"{len(verdict.providers)} providers validated, {verdict.switched_off} switched off"
        lines.append(f"{verdict.config}: {len(verdict.findings) or 'no'} findings ({count})")
        lines.extend(f"  {f.kind}  {f.path or '(whole file)'}: {f.message}" for f in verdict.findings)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="+", type=Path, metavar="CONFIG")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    parser.add_argument("--loaded", action="store_true", help="with --json: tell what was loaded, secrets in clear text")
    parser.add_argument("--base", action="store_true", help="the files are bases, which something is laid over")
    parser.add_argument("--libyaml", action="store_true", help="read YAML by libyaml, not by the server's own loader")
    parser.add_argument("--env", action="append", default=[], type=assignment, metavar="K=V")
    parser.add_argument("--env-file", action="append", default=[], type=Path, metavar="FILE", help="lines K=V")
    parser.add_argument("--dummy", metavar="PREFIX", help="give variables of this prefix a value when nobody does")
    arguments = parser.parse_args()

    warnings.simplefilter("ignore")
    # Output of imported modules must not mix with the verdicts.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            server = server_package.load()
            environments = [environment(path, arguments) for path in arguments.configs]
        except (ImportError, OSError, argparse.ArgumentTypeError) as error:
            print(f"validate: {error}", file=sys.stderr)
            return 2
        verdicts = [
            validate(server, path, env, arguments.base, yaml.CSafeLoader if arguments.libyaml else yaml.SafeLoader)
            for path, env in zip(arguments.configs, environments, strict=True)
        ]
        if not arguments.loaded:
            for verdict in verdicts:
                verdict.loaded = {}
    if arguments.json:
        validated_by = {"package": server.package, "version": server.version}
        print(json.dumps(validated_by | {"verdicts": [asdict(v) for v in verdicts]}, indent=2))
    else:
        print(f"validated by {server.package} {server.version}")
        print(report(verdicts))
    return 1 if any(v.findings for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
