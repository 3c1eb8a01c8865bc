"""Statements of programs of many kinds, filled in at random: nearly each is one template, and no two are the same.

The statements were written as such programs write them, not taken from a labelled log; the truth is which statement
wrote a line.
"""

import random
import re
from collections import Counter, defaultdict

import pytest

from enlist.tools.logs.templates import Miner

NAMES = {
    "user": "alice bob carol dave erin frank grace heidi ivan judy mallory niaj olivia www-data root admin svc_backup",
    "service": "checkout payments cart search shipping inventory auth gateway billing ledger mailer",
    "host": "db-primary db-replica-1 web01 cache-a.prod.example.com mq.internal.example.org kafka-3 bastion localhost",
    "thrown": "java.lang.NullPointerException java.io.IOException java.net.SocketTimeoutException com.acme.Bad",
    "device": "sda sda1 sdb nvme0n1 md0 dm-3", "link": "eth0 eth1 ens3 lo docker0 wlan0 br-lan",
}
REASONS = ("connection refused", "no such file or directory", "permission denied", "unexpected end of input",
           "read timed out", "no route to host", "broken pipe", "invalid argument")
STATEMENTS = {
    "web": """
client {ip} closed connection while waiting for request
upstream timed out ({int}: {reason}) while reading response header, client: {ip}, request: "GET {path} HTTP/1.1"
open() "{path}" failed ({int}: No such file or directory)
worker process {int} exited with code {int}
reconfiguring
"GET {path} HTTP/1.1" {int} {int} "-" "curl/7.{int}"
"POST {path} HTTP/1.1" {int} {int} "-" "curl/7.{int}"
cache hit for key {hex}
cache miss for key {hex}
user {user} authenticated via {word}
user {user} not found
rate limit exceeded for {ip}: {int} requests in {int} s""",
    "kernel": """
{link}: link up, {int}Mbps, full-duplex
{link}: link down
device {link} entered promiscuous mode
device {link} left promiscuous mode
EXT4-fs ({device}): mounted filesystem with ordered data mode
Out of memory: Killed process {int} ({word}) total-vm:{int}kB, anon-rss:{int}kB
Started Session {int} of user {user}.
Stopped Session {int} of user {user}.
segfault at {hex} ip {hex} sp {hex} error {int} in {word}[{hex}+{int}]
({user}) CMD ({path})
time stepped by {float} seconds at {date}""",
    "business": """
Order {int} created by {user}, total={float}
Order {int} cancelled by {user}
Payment of {float} EUR for order {int} was rejected: {reason}
Payment of {float} EUR for order {int} was accepted
Call to {service} failed after {int} ms
Call to {service} succeeded after {int} ms
Circuit breaker for {service} is now OPEN
Circuit breaker for {service} is now CLOSED
Unhandled exception: {thrown}
Consumer joined group {word} with partitions {numbers}
Uploaded {word}.txt ({size}) to bucket {word}
Failed to parse {path}
Failed to read {path}
Failed to write {path}
Published message {uuid} to {host}""",
    "mail": """
connect from {host}[{ip}]
disconnect from {host}[{ip}]
{hex}: from=<{user}@example.org>, size={int}, nrcpt={int} (queue active)
{hex}: to=<{user}@example.org>, relay={host}[{ip}]:{int}, delay={float}, dsn=2.0.0, status=sent (250 OK)
{hex}: to=<{user}@example.org>, relay=none, delay={float}, status=bounced (host {host}[{ip}] said: 550 unknown)
{hex}: removed
lost connection after {word} from {host}[{ip}]
Mailbox {user}/INBOX locked by process {int}
quota exceeded for mailbox {user}""",
    "storage": """
Verification succeeded for {word}_{int}
Snapshot {word}-{int} created in {float} s
Snapshot {word}-{int} deleted
Compaction of {path} finished: {size} -> {size}
health check failed: {int} slow ops, oldest one blocked for {int} sec
scrub ok
scrub starts
user {user} has used {size} of {size}
acquire lock tag="{word} {word}" uid={int} pid={int} ws=null
release lock tag="{word} {word}" uid={int} pid={int} ws=Source{int}
sensor {word} rate={int} Hz enabled={flag}
node {host} drained by {user}: {reason}
node {host} returned to service""",
}


def filled(statement: str, chance: random.Random) -> str:
    def word(size: int = 7) -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=size))

    def value(found: re.Match[str]) -> str:
        kind = found[1]
        if kind in NAMES:
            return chance.choice(NAMES[kind].split())
        return {
            "reason": lambda: chance.choice(REASONS), "word": word, "flag": lambda: chance.choice(["true", "false"]),
            "ip": lambda: ".".join(str(chance.randrange(256)) for _ in range(4)),
            "int": lambda: str(chance.randrange(10 ** chance.randrange(1, 7))),
            "float": lambda: f"{100 * chance.random():.3f}", "hex": lambda: f"{chance.getrandbits(48):x}",
            "uuid": lambda: "-".join(f"{chance.getrandbits(4 * n):0{n}x}" for n in (8, 4, 4, 4, 12)),
            "path": lambda: "".join("/" + word(5) for _ in range(chance.randrange(1, 5))),
            "size": lambda: f"{100 * chance.random():.1f} {chance.choice(['KB', 'MB', 'GB'])}",
            "numbers": lambda: str([chance.randrange(99) for _ in range(chance.randrange(5))]),
            "date": lambda: f"{chance.choice(['Mon', 'Sat'])} {chance.choice(['Jan', 'Jun'])} {chance.randrange(29)}",
        }[kind]()

    return re.sub(r"\{(\w+)\}", value, statement)


@pytest.mark.parametrize("system", STATEMENTS)
def test_lines_of_one_statement_are_one_template_and_of_two_are_two(system: str) -> None:
    chance = random.Random(11)
    statements = STATEMENTS[system].strip().split("\n")
    written = [chance.choice(statements) for _ in range(60 * len(statements))]
    miner = Miner()
    shapes = miner.add([filled(statement, chance) for statement in written])
    templates: dict[str, Counter[int]] = defaultdict(Counter)
    writers: dict[int, set[str]] = defaultdict(set)
    for statement, shape in zip(written, shapes, strict=True):
        templates[statement][miner.template_of(shape)] += 1
        writers[miner.template_of(shape)].add(statement)
    assert {miner.text(id): found for id, found in writers.items() if len(found) > 1} == {}
    split = {statement: found for statement, found in templates.items() if len(found) > 1}
    assert len(split) <= len(statements) / 10, split
    assert all(found.most_common(1)[0][1] > 0.9 * found.total() for found in split.values()), split
