#!/usr/bin/env bash
# Start this machine's part of a Ray cluster for Enlist, in the foreground, until it is interrupted.
#
#   deploy/start-node.sh head [PORT]          the first node; prints the address for the others and for --address
#   deploy/start-node.sh worker HOST:PORT     each further node
#
# All nodes and the machine that types `enlist run --address HOST:PORT` need the same Python, ray and enlist, and the
# same token: copy the file ray-token of ENLIST_HOME (default ~/.enlist) of the first machine to the others.
# ENLIST_PYTHON names the interpreter that Enlist is installed in (default: .venv/bin/python beside deploy/).
set -euo pipefail
usage() { sed -n '4,5s/^#  *//p' "$0" >&2; exit 2; }
case "${1:-}" in head) ;; worker) [ -n "${2:-}" ] || usage ;; *) usage ;; esac
here="$(cd "$(dirname "$0")/.." && pwd)"
python="${ENLIST_PYTHON:-$here/.venv/bin/python}"
home="${ENLIST_HOME:-$HOME/.enlist}"
[ -x "$python" ] || { echo "no interpreter at $python; set ENLIST_PYTHON or run make install" >&2; exit 2; }
export RAY_AUTH_MODE=token
export RAY_AUTH_TOKEN_PATH
RAY_AUTH_TOKEN_PATH="$("$python" -c 'import sys; from pathlib import Path
from enlist.orchestrator.cluster import private_token
print(private_token(Path(sys.argv[1])))' "$home")"
ray="$(dirname "$python")/ray"
case "${1:-}" in
  head) exec "$ray" start --head --port "${2:-6379}" --include-dashboard=false --disable-usage-stats --block ;;
  worker) exec "$ray" start --address "$2" --disable-usage-stats --block ;;
esac
