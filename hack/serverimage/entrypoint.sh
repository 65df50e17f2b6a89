#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Starts the server as the published images do. That includes their silent fallback: a RUN_CONFIG_PATH that names no file
# means the image's own default config, not an error.
if [ -n "${RUN_CONFIG_PATH:-}" ] && [ -f "$RUN_CONFIG_PATH" ]; then
  set -- "$RUN_CONFIG_PATH" "$@"
elif [ -n "${DISTRO_NAME:-}" ]; then
  set -- "$DISTRO_NAME" "$@"
fi

# Traces are on as soon as one OTEL_* variable is there.
if env | grep -q '^OTEL_'; then
  export OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="${OTEL_PYTHON_DISABLED_INSTRUMENTATIONS:+$OTEL_PYTHON_DISABLED_INSTRUMENTATIONS,}asyncpg,sqlite3"
  exec opentelemetry-instrument "${CLI_NAME:-llama}" stack run "$@"
fi
exec "${CLI_NAME:-llama}" stack run "$@"
