# SPDX-License-Identifier: Apache-2.0
"""Imports the server once, and forks a process for each server or script.

    "$(./venv.sh 0.7)" boot.py CONFIG

It imports the server's command line and the providers of CONFIG, a base. Then it reads commands from standard input and
writes events to standard output, one JSON object per line:

    {"start": NAME, "config": FILE, "dir": FOLDER, "env": {...}, "hosts": {"vllm": ADDRESS}}   a server with exactly this environment
    {"script": FILE, "name": NAME, "args": [...], "dir": FOLDER}                               a script of this folder
    {"stop": NAME}                                                                             SIGTERM, then SIGKILL
    {"ready": true}    {"ended": NAME, "status": N, "cpu": SECONDS}

A server runs `stack run CONFIG` and writes to the file `log` in its folder. Only the names in `hosts` resolve, to
loopback addresses, so that no request leaves the machine. A placeholder replaces the tokenizer cl100k_base, which needs
a download. Releases with job processes start one instead of two, because each imports the server again.

A script runs with the files stdin, stdout and stderr of its folder, in the environment and working directory of this
program. The end of standard input stops all processes.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import server_package
import yaml
from server_package import ServerPackage

# Time to end after SIGTERM.
STOP_SECONDS = 10
PAUSE_SECONDS = 0.05
# Modules that other packages import only when a server starts.
LATE_MODULES = ("uvicorn.lifespan.on", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto", "pydantic.v1")
# prctl(2): orphaned descendants become children of this process.
PR_SET_CHILD_SUBREAPER = 36
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def preload(server: ServerPackage, base: Path) -> None:
    """Imports the modules that most servers need. A server reports import errors itself."""
    server.command_line()
    for module in (*server.core_modules(), *LATE_MODULES):
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    config = server.config_class(**server.replace_env_vars(yaml.safe_load(base.read_text(encoding="utf-8"))))
    for api, types in server.provider_registry(config).items():
        for entry in config.providers.get(api.value, []):
            spec = types.get(entry.provider_type) if entry.provider_id else None
            if spec is not None and spec.module:
                for module in submodules(spec.module):
                    with contextlib.suppress(Exception):
                        importlib.import_module(module)


def submodules(package: str) -> Iterator[str]:
    """Returns the package and its direct submodules."""
    yield package
    with contextlib.suppress(ImportError):
        for module in pkgutil.iter_modules(getattr(importlib.import_module(package), "__path__", [])):
            yield f"{package}.{module.name}"


def stand_in_tokenizer() -> None:
    """Registers a placeholder for the encoding that tiktoken would download."""
    tiktoken = importlib.import_module("tiktoken")
    name = "cl100k_base"
    tiktoken.registry.ENCODINGS[name] = tiktoken.Encoding(
        name, pat_str=".", mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )


def one_job_worker(server: ServerPackage) -> None:
    with contextlib.suppress(ImportError):  # none before 1.3
        jobs: Any = importlib.import_module(f"{server.package}.core.jobs.bootstrap")
        jobs.DEFAULT_JOB_WORKERS = 1


def resolve_only(hosts: dict[str, str]) -> None:
    """Limits name resolution to these hosts and loopback."""
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name in hosts:
            return resolve(hosts[name], port, *args, **kwargs)
        if not name or name in LOOPBACK or name.startswith("127."):
            return resolve(host, port, *args, **kwargs)
        raise socket.gaierror(socket.EAI_NONAME, f"{name} is no host of this test")

    socket.getaddrinfo = getaddrinfo


def become(what: Callable[[], Any], standard_input: Path | str, output: Path, errors: Path) -> None:
    """Runs a function in a forked process, with files as standard streams. Never returns."""
    status = 1
    try:
        if sys.platform == "linux":
            pr_set_pdeathsig = 1
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        # With O_APPEND, stdout and stderr can share a file.
        written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        for target, file, flags in ((0, standard_input, os.O_RDONLY), (1, output, written), (2, errors, written)):
            source = os.open(file, flags, 0o600)
            os.dup2(source, target)
            os.close(source)
        warnings.resetwarnings()
        what()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        logging.exception("it failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def serve(server: ServerPackage, command: dict[str, Any]) -> None:
    """Turns the process into a server."""

    def run() -> None:
        os.chdir(command["dir"])
        os.environ.clear()
        os.environ.update(command["env"])
        resolve_only(command["hosts"])
        sys.argv = [server.package, "stack", "run", command["config"]]
        server.command_line()()

    log = Path(command["dir"], "log")
    become(run, os.devnull, log, log)


def run_script(command: dict[str, Any]) -> None:
    """Turns the process into a script."""

    def run() -> None:
        sys.argv = [command["script"], *command["args"]]
        runpy.run_path(command["script"], run_name="__main__")

    folder = Path(command["dir"])
    become(run, folder / "stdin", folder / "stdout", folder / "stderr")


def end_rest(group: int) -> None:
    """Kills the remaining processes of an ended server and waits for them, so that none writes into its folder."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-group, 0)


class Nursery:
    """Runs the servers and scripts."""

    def __init__(self, server: ServerPackage, commands: BinaryIO, events: int) -> None:
        self.server = server
        self.commands = commands
        self.events = events
        self.running: dict[int, str] = {}
        """Names by process id."""
        self.killed_at: dict[int, float] = {}
        """Time of the next SIGKILL, by process id."""

    def tell(self, **event: Any) -> None:
        os.write(self.events, json.dumps(event).encode() + b"\n")

    def run(self) -> None:
        self.tell(ready=True)
        pending = b""
        reading = True
        while reading or self.running:
            readable, _, _ = select.select([self.commands] if reading else [], [], [], PAUSE_SECONDS)
            if readable:
                chunk = os.read(self.commands.fileno(), 65536)
                reading = bool(chunk)
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    self.obey(json.loads(line))
                if not reading:
                    for pid in list(self.running):
                        self.stop(pid)
            self.reap()

    def fork(self, name: str, child: Callable[[], None]) -> None:
        """Forks a process that runs child, which never returns."""
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            child()
        with contextlib.suppress(OSError):  # parent and child both set it
            os.setpgid(pid, pid)
        self.running[pid] = name

    def obey(self, command: dict[str, Any]) -> None:
        if "start" in command:
            self.fork(command["start"], lambda: serve(self.server, command))
            return
        if "script" in command:
            self.fork(command["name"], lambda: run_script(command))
            return
        for pid, name in list(self.running.items()):
            if name == command["stop"]:
                self.stop(pid)

    def stop(self, pid: int) -> None:
        if pid not in self.killed_at:
            self.killed_at[pid] = time.monotonic() + STOP_SECONDS
            os.kill(pid, signal.SIGTERM)

    def reap(self) -> None:
        for pid in list(self.running):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                self.killed_at.pop(pid, None)
                end_rest(pid)
                cpu = round(usage.ru_utime + usage.ru_stime, 2)
                self.tell(ended=self.running.pop(pid), status=os.waitstatus_to_exitcode(status), cpu=cpu)
            elif self.killed_at.get(pid, time.monotonic() + 1) < time.monotonic():
                self.killed_at[pid] = time.monotonic() + STOP_SECONDS
                os.kill(pid, signal.SIGKILL)


def main() -> int:
    # Output of imported modules must not mix with the events.
    events = os.dup(1)
    os.set_inheritable(events, False)
    os.dup2(2, 1)
    # The default log level of servers.
    os.environ |= {"LLAMA_STACK_LOGGING": "all=info", "OGX_LOGGING": "all=info"}
    server = server_package.load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        preload(server, Path(sys.argv[1]))
    stand_in_tokenizer()
    one_job_worker(server)
    if threading.active_count() > 1:
        print(f"boot: importing started threads, which do not survive a fork: {threading.enumerate()}", file=sys.stderr)
        return 2
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    Nursery(server, sys.stdin.buffer, events).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
