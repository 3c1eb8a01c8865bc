#!/usr/bin/env bash
# End the nodes that deploy/start-node.sh started on this machine with this ENLIST_HOME, and nothing else.
#
#   deploy/stop-node.sh [--grace SECONDS]     what has not ended by itself by then (20 s) is killed
set -euo pipefail
here="$(cd "$(dirname "$0")/.." && pwd)"
python="${ENLIST_PYTHON:-$here/.venv/bin/python}"
[ -x "$python" ] || { echo "no interpreter at $python; set ENLIST_PYTHON or run make install" >&2; exit 2; }
exec "$python" -m enlist.orchestrator.node stop "$@"
