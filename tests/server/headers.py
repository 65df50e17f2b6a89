# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the headers of a request that the server's exporter of metrics makes in an environment.

    "$(./venv.sh 1.5)" headers.py [K=V]...

The request goes to a collector of its own on this machine, whatever the environment says.
"""

import http.server
import json
import os
import sys
import threading
from typing import Any


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes every request, and keeps the headers of the last one."""

    headers_seen: dict[str, str]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Collector.headers_seen = {name.lower(): value for name, value in self.headers.items()}
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def main() -> int:
    os.environ.update(dict(argument.split("=", 1) for argument in sys.argv[1:]))
    collector = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    collector.timeout = 30
    threading.Thread(target=collector.handle_request, daemon=True).start()

    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import MetricsData

    # As the server makes it: an endpoint, and the rest from the environment.
    exporter = OTLPMetricExporter(endpoint=f"http://127.0.0.1:{collector.server_port}/v1/metrics", timeout=30)
    exporter.export(MetricsData(resource_metrics=[]))
    print(json.dumps(Collector.headers_seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
