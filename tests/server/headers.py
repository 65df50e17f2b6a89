# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the headers of a request that the server's exporter of metrics makes in an environment.

    "$(./venv.sh 1.5)" headers.py [--certificate FILE --key FILE] [K=V]...

The request goes to a collector of its own on this machine, whatever the environment says; with a certificate, which must be for
localhost, to one with TLS. It prints null where the exporter sends nothing.
"""

import argparse
import http.server
import json
import os
import ssl
import sys
import threading
from typing import Any


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes every request, and keeps the headers of the last one."""

    headers_seen: dict[str, str] | None = None

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Collector.headers_seen = {name.lower(): value for name, value in self.headers.items()}
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("variables", nargs="*")
    arguments = parser.parse_args()
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # those of the machine
        os.environ.pop(name, None)
    os.environ.update(dict(variable.split("=", 1) for variable in arguments.variables))
    collector = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    collector.timeout = 30
    address = f"http://127.0.0.1:{collector.server_port}"
    if arguments.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(arguments.certificate, arguments.key)
        collector.socket = tls.wrap_socket(collector.socket, server_side=True)
        address = f"https://localhost:{collector.server_port}"
    threading.Thread(target=collector.handle_request, daemon=True).start()

    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricsData

    # As the server makes it: an endpoint, and the rest from the environment.
    exporter = OTLPMetricExporter(endpoint=f"{address}/v1/metrics", timeout=30)
    try:
        exporter.export(MetricsData(resource_metrics=[]))
    except Exception as error:  # of older releases, where nothing is sent
        print(error, file=sys.stderr)
    print(json.dumps(Collector.headers_seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
