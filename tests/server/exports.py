# SPDX-License-Identifier: Apache-2.0
"""Prints the requests that export metrics and traces in an environment, as JSON: {signal: {path, headers}}.

    "$(./venv.sh 1.5)" exports.py [--certificate FILE --key FILE] [K=V]...

A collector on this machine replaces the host of OTEL_EXPORTER_OTLP_ENDPOINT. With a certificate, which must be for
localhost, it uses TLS. A signal that is not sent is null.
"""

import argparse
import http.server
import json
import os
import ssl
import sys
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collector(http.server.BaseHTTPRequestHandler):
    """Accepts every request, and keeps the last one."""

    seen: dict[str, Any] | None = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Collector.seen = {"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}}
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def sent(export: Callable[[], Any]) -> dict[str, Any] | None:
    """Exports once, and returns the request that reached the collector."""
    Collector.seen = None
    try:
        export()
    except Exception as error:  # some releases raise it if nothing is sent
        print(error, file=sys.stderr)
    return Collector.seen


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("variables", nargs="*")
    arguments = parser.parse_args()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # not those of the machine
        os.environ.pop(name, None)
    os.environ.update(dict(variable.split("=", 1) for variable in arguments.variables))
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    address = f"http://127.0.0.1:{collector.server_port}"
    if arguments.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.certificate, arguments.key)
        collector.socket = tls.wrap_socket(collector.socket, server_side=True)
        address = f"https://localhost:{collector.server_port}"
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    given = urlsplit(os.environ.get(ENDPOINT, ""))
    os.environ[ENDPOINT] = address + given._replace(scheme="", netloc="").geturl()

    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics.export import MetricsData

    # As in the server: an explicit endpoint, the rest from the environment.
    metrics = OTLPMetricExporter(endpoint=f"{os.environ[ENDPOINT]}/v1/metrics", timeout=10)
    # As in the instrumentation of the image's entrypoint: all from the environment.
    traces = OTLPSpanExporter(timeout=10)
    requests = {
        "metrics": sent(lambda: metrics.export(MetricsData(resource_metrics=[]))),
        "traces": sent(lambda: traces.export([])),
    }
    print(json.dumps(requests))
    return 0


if __name__ == "__main__":
    sys.exit(main())
