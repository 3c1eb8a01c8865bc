#!/usr/bin/env bash
# Read secrets from files: NAME_FILE=/run/secrets/x sets NAME, for the names that Enlist's libraries take from the
# environment alone. Then become the command.
set -euo pipefail
for name in PGPASSWORD AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY ENLIST_MCP_TOKEN; do
  file="${name}_FILE"
  if [ -n "${!file:-}" ]; then
    value="$(cat "${!file}")"
    export "$name=$value"
    unset "$file"
  fi
done
exec "$@"
