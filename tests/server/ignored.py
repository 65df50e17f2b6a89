# SPDX-License-Identifier: Apache-2.0
"""Finds the keys that the server ignores silently: pydantic drops unknown keys by default."""

import difflib
from collections.abc import Iterator
from typing import Any

from findings import Finding, child, item
from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo


def ignored(raw: Any, parsed: Any, path: str) -> Iterator[Finding]:
    """Compares a written tree (environment resolved) with the objects that the server parsed from it.

    Walking the objects, not the classes, follows the server's own choice for unions and discriminators.
    """
    if isinstance(raw, dict) and isinstance(parsed, BaseModel):
        yield from _ignored_by_model(raw, parsed, path)
    elif isinstance(raw, dict) and isinstance(parsed, dict):
        for key in raw.keys() & parsed.keys():
            yield from ignored(raw[key], parsed[key], child(path, str(key)))
    elif isinstance(raw, list) and isinstance(parsed, list):
        if len(raw) != len(parsed):
            message = f"the server drops {len(raw) - len(parsed)} of the {len(raw)} entries"
            yield Finding("ignored", path, message)
            return
        for index, (raw_entry, parsed_entry) in enumerate(zip(raw, parsed, strict=True)):
            yield from ignored(raw_entry, parsed_entry, item(path, index, raw_entry))


def _ignored_by_model(raw: dict[str, Any], parsed: BaseModel, path: str) -> Iterator[Finding]:
    fields = {
        key: name for name, field in type(parsed).model_fields.items() for key in yaml_keys(name, field, type(parsed))
    }
    takes_others = parsed.model_config.get("extra") == "allow"
    for key, value in raw.items():
        if key in fields:
            yield from ignored(value, getattr(parsed, fields[key]), child(path, key))
        elif not takes_others:
            yield Finding("ignored", child(path, str(key)), _unknown(str(key), sorted(fields)))


def unexpanded(raw: Any, path: str) -> Iterator[Finding]:
    """Finds references to the environment that the server took for text."""
    if isinstance(raw, dict):
        for key, value in raw.items():
            yield from unexpanded(value, child(path, str(key)))
    elif isinstance(raw, list):
        for index, entry in enumerate(raw):
            yield from unexpanded(entry, item(path, index, entry))
    elif isinstance(raw, str) and "${env." in raw:
        yield Finding("ignored", path, "the server does not expand this reference")


def yaml_keys(name: str, field: FieldInfo, model: type[BaseModel]) -> Iterator[str]:
    """Returns the keys that set a field in YAML: its aliases, and its own name unless an alias hides it."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        yield from (choice for choice in alias.choices if isinstance(choice, str))
    elif isinstance(alias, str):
        yield alias
    by_name = model.model_config.get("populate_by_name") or model.model_config.get("validate_by_name")
    if alias is None or by_name:
        yield name


def _unknown(key: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"the server ignores this key; {hint}It knows: {', '.join(known) or 'no key at all'}"
