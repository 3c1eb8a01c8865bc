#!/usr/bin/env bash
# Start this machine's part of a Ray cluster for Enlist, in the foreground, until it is interrupted.
#
#   deploy/start-node.sh head [PORT] [options]          the first node, whose HOST:PORT is for the others and --address
#   deploy/start-node.sh worker HOST:PORT [options]     each further node
#   deploy/start-node.sh worker --help                  the options; --check only looks whether this machine will do
#
# All nodes and the machine that types `enlist run --address HOST:PORT` need the same Python, ray and enlist, and the
# same token: copy the file ray-token of ENLIST_HOME (default ~/.enlist) of the first machine to the others.
# ENLIST_PYTHON names the interpreter that Enlist is installed in (default: .venv/bin/python beside deploy/).
set -euo pipefail
usage() { sed -n '4,6s/^#  *//p' "$0" >&2; exit 2; }
case "${1:-}" in head) ;; worker) [ -n "${2:-}" ] || usage ;; *) usage ;; esac
here="$(cd "$(dirname "$0")/.." && pwd)"
python="${ENLIST_PYTHON:-$here/.venv/bin/python}"
[ -x "$python" ] || { echo "no interpreter at $python; set ENLIST_PYTHON or run make install" >&2; exit 2; }
exec "$python" -m enlist.orchestrator.node "$@"
