# SPDX-License-Identifier: Apache-2.0
"""Connects to databases with the server's storage classes, without starting the server.

    "$(./venv.sh 0.7)" storage.py <cases.json

It reads a list of cases, {"config": FILE, "env": {…}}, from standard input. For each, it resolves the config.yaml in
exactly this environment, opens the metadata store (by key) and the inference store (SQL), and reads back what it writes
to both. It prints a JSON list with an error or null for each case.
"""

import asyncio
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import server_package
import yaml
from server_package import ServerPackage


def module(server: ServerPackage, name: str) -> ModuleType:
    """Imports a storage module; they moved in 0.4."""
    for folder in ("core.storage", "providers.utils"):
        full = f"{server.package}.{folder}.{name}"
        if importlib.util.find_spec(full.rpartition(".")[0]) and importlib.util.find_spec(full):
            return importlib.import_module(full)
    raise ImportError(f"{server.package} has no storage module {name}")


async def settled(value: Any) -> Any:
    """Returns the result of a function that is asynchronous in some releases."""
    return await value if inspect.isawaitable(value) else value


async def try_case(server: ServerPackage, config: Any) -> None:
    kv, sql = module(server, "kvstore.kvstore"), module(server, "sqlstore.sqlstore")
    types = module(server, "sqlstore.sqlalchemy_sqlstore").ColumnType
    backends = config.storage.backends
    kv.register_kvstore_backends({name: b for name, b in backends.items() if b.type.value.startswith("kv_")})
    sql.register_sqlstore_backends({name: b for name, b in backends.items() if b.type.value.startswith("sql_")})

    keys = await settled(kv.kvstore_impl(config.storage.stores.metadata))
    await keys.set("storage-test", "kept")
    # On 0.3, Redis returns bytes.
    if await keys.get("storage-test") not in ("kept", b"kept"):
        raise AssertionError("the key-value store does not hold what was written")

    # The function is private from 1.1 on.
    make = getattr(sql, "sqlstore_impl", None) or sql._sqlstore_impl
    rows = await settled(make(config.storage.stores.inference))
    # Tests of several releases share a database.
    table = "storage_test_" + re.sub("[^a-z0-9]", "_", server.version)
    await rows.create_table(table, {"id": types.STRING, "value": types.STRING})
    await rows.insert(table, {"id": "1", "value": "kept"})
    row = await rows.fetch_one(table, {"id": "1"})
    await rows.delete(table, {"id": "1"})
    if row is None or row["value"] != "kept":
        raise AssertionError("the SQL store does not hold what was written")


def run(server: ServerPackage, case: dict[str, Any]) -> str | None:
    with mock.patch.dict(os.environ, case["env"], clear=True):
        try:
            written = yaml.safe_load(Path(case["config"]).read_text(encoding="utf-8"))
            config = server.config_class(**server.replace_env_vars(written))
            asyncio.run(asyncio.wait_for(try_case(server, config), timeout=60))
        except Exception as error:  # the result names its type
            return f"{type(error).__name__}: {error}"
    return None


def main() -> int:
    server = server_package.load()
    json.dump([run(server, case) for case in json.load(sys.stdin)], sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
