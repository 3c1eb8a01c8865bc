"""Lines as real programs write them, some written by programs that this test runs: none is unaccounted."""

import logging
import logging.handlers
import subprocess
import sys
from pathlib import Path
from typing import Any

from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import blocks

CRASH = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(asctime)s %(levelname)s %(name)s: %(message)s", level="INFO")
log = logging.getLogger("shop.cart")
for i in range(5):
    log.info("request %d served", i)
try:
    {}["total"]
except KeyError:
    log.exception("cart lost")
sys.stdout.flush()
def inner(rows):
    return rows[3]
inner([])
"""


def framed(path: Path) -> tuple[list[dict[str, Any]], Accounting]:
    account = Accounting()
    got = [{c: getattr(b, c)[i] for c in ("time", "level", "service", "message", "rest", "lines")}
           for b in batches(blocks([path], account), account) for i in range(len(b))]
    assert account.balanced() and sum(g["lines"] for g in got) + account.by_category["blank"] == account.lines_read
    return got, account


def test_a_python_program_that_crashes_beside_its_log(tmp_path: Path) -> None:
    path = tmp_path / "shop.log"
    with open(path, "wb") as out:
        ended = subprocess.run([sys.executable, "-c", CRASH], stdout=out, stderr=subprocess.STDOUT, check=False)
    assert ended.returncode == 1
    got, account = framed(path)
    assert [g["message"] for g in got][:5] == [f"request {i} served" for i in range(5)]
    assert got[5]["level"] == "error" and "KeyError: 'total'" in got[5]["rest"]
    assert "IndexError: list index out of range" in got[-1]["rest"]
    assert account.lines_read == path.read_bytes().count(b"\n")


def test_what_the_standard_library_sends_to_a_syslog_file(tmp_path: Path) -> None:
    path = tmp_path / "messages"
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("<%(pri)d>%(asctime)s box %(name)s[%(process)d]: %(message)s",
                                           "%b %d %H:%M:%S"))
    scale = logging.handlers.SysLogHandler.priority_names
    for name, word in ((logging.INFO, "info"), (logging.ERROR, "err"), (logging.CRITICAL, "crit")):
        record = logging.LogRecord("cron", name, "", 1, "job ended", (), None)
        record.pri = 3 * 8 + scale[word]
        handler.emit(record)
    handler.close()
    got, _ = framed(path)
    assert [(g["level"], g["service"], g["message"]) for g in got] == [
        (level, "cron", "job ended") for level in ("info", "error", "fatal")]


DATABASE = """2026-03-04 05:06:07.123 UTC [77] LOG:  database system is ready to accept connections
2026-03-04 05:06:08.123 UTC [78] ERROR:  relation "carts" does not exist at character 15
2026-03-04 05:06:08.123 UTC [78] STATEMENT:  select *
\tfrom carts
2026-03-04 05:06:09.123 UTC [79] ERROR:  duplicate key value violates unique constraint "a_pkey"
2026-03-04 05:06:09.123 UTC [79] DETAIL:  Key (id)=(1) already exists.
"""
SERVERS = """2026/03/04 05:06:07 [error] 31#31: *1 connect() failed (111: Connection refused) while connecting
[Wed Mar 04 05:06:07.123456 2026] [proxy:error] [pid 3:tid 4] AH00957: HTTP: attempt to connect failed
10.0.0.1 - alice [04/Mar/2026:05:06:07 +0000] "GET /a?b=c HTTP/1.1" 502 157 "-" "curl/8.0"
E0304 05:06:07.000000       1 reflector.go:10] failed to list
"""


def test_a_database_with_statements_over_lines(tmp_path: Path) -> None:
    (tmp_path / "db.log").write_text(DATABASE)
    got, _ = framed(tmp_path / "db.log")
    assert len(got) == 5 and got[2]["rest"] == "\tfrom carts" and got[1]["level"] == "error"


def test_servers_and_their_levels_mixed_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "all.log").write_text(SERVERS * 3)
    got, _ = framed(tmp_path / "all.log")
    assert {g["level"] for g in got} == {"error"} and len({g["time"] // 10**9 for g in got}) == 1
