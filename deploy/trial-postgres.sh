#!/usr/bin/env bash
# Start a PostgreSQL server for trying a cluster out, in the foreground, until it is interrupted.
#
#   deploy/trial-postgres.sh FOLDER [PORT]    without PORT it listens on a unix socket in FOLDER alone
#
# FOLDER must not exist. It gets the data and, in the file `password`, the password of the user `enlist` over TCP; on the
# socket nobody asks for one, and nobody else may enter the folder. Started by root it runs as `nobody`: PostgreSQL
# refuses root. For work, use a server that somebody looks after and backs up.
set -euo pipefail
usage() { sed -n '4s/^#  *//p' "$0" >&2; exit 2; }
case "$#" in 1|2) ;; *) usage ;; esac
folder="$1" port="${2:-}"
programs=""
for one in "$(dirname "$(command -v initdb || echo /)")" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/bin; do
  [ -x "$one/initdb" ] && [ -x "$one/postgres" ] && programs="$one"
done
[ -n "$programs" ] || { echo "PostgreSQL's initdb and postgres are not installed" >&2; exit 2; }
umask 077
mkdir "$folder"
folder="$(cd "$folder" && pwd)"
od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > "$folder/password"
drop=()
if [ "$(id -u)" = 0 ]; then
  chown -R 65534:65534 "$folder"
  drop=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
cd "$folder"
"${drop[@]}" "$programs/initdb" -D "$folder/data" -U enlist --pwfile="$folder/password" --auth-local=trust \
  --auth-host=scram-sha-256 -E UTF8 --locale=C > "$folder/initdb.log"
listen=(-c listen_addresses=)
[ -z "$port" ] || listen=(-c "listen_addresses=*" -p "$port")
[ -z "$port" ] || echo "ENLIST_MEMORY=postgresql://enlist@$(hostname):$port/postgres PGPASSWORD=\$(cat $folder/password)"
exec "${drop[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" "${listen[@]}"
