"""What healthy services say: phrases by role in two wordings, as lines `level | first wording | second wording`.

The order is the order of frequency. Warnings and errors are among them: a healthy system is never quiet.
"""

from collections.abc import Mapping

from enlist.environments.incident_logs.model import Level

Phrase = tuple[Level, str, str]


def _phrases(text: str) -> tuple[Phrase, ...]:
    rows = []
    for line in text.strip().splitlines():
        level, first, second = (part.strip() for part in line.split(" | "))
        rows.append((_LEVELS[level], first, second))
    return tuple(rows)


_LEVELS: Mapping[str, Level] = {"debug": "debug", "info": "info", "warn": "warn", "error": "error"}

CHATTER: Mapping[str, tuple[Phrase, ...]] = {
    "gateway": _phrases("""
        info | connection from {ip}:{port} accepted | new client {ip}:{port}
        info | keepalive closed after {sec} s, {few} requests | idle connection ended after {sec} s ({few} requests)
        warn | client {ip} closed connection while response was being sent | peer {ip} hung up before the response ended
        info | upstream pool has {n} idle connections | {n} idle connections to upstreams
        warn | request body of {kb} kB buffered to a temporary file | body ({kb} kB) spooled to disk
        debug | routing table lookup took {ms} us | route found in {ms} us
        info | TLS session resumed for {ip} | resumed session of {ip}
        warn | client {ip} sent an invalid header line | malformed header from {ip} ignored
        error | SSL handshake with client {ip} aborted | TLS hello of {ip} was cut short
        warn | rate of {ip} above soft limit, delaying {ms} ms | slowing {ip} down by {ms} ms"""),
    "app": _phrases("""
        info | session {id} loaded for {user} in {ms} ms | {user} has session {id} ({ms} ms)
        debug | cache lookup for {word}:{num} took {ms} ms | looked up {word}:{num}, {ms} ms
        info | {noun} {num} updated by {user} | {user} changed {noun} {num}
        info | query for {n} rows finished in {ms} ms | {n} rows came back within {ms} ms
        info | published {noun}.changed for {num} | event {noun}.changed sent ({num})
        warn | retrying call after {ms} ms, attempt {try} succeeded | call worked at attempt {try} after {ms} ms
        info | feature {word} evaluated to off for {user} | {user}: switch {word} is off
        info | GC pause (young) {ms} ms, heap {mb}M | young collection took {ms} ms, {mb}M in use
        warn | slow request {path} took {ms}0 ms | {path} needed {ms}0 ms
        error | validation failed for {noun} {num}: missing field {word} | {noun} {num} rejected, no {word} given
        warn | {user} sent an outdated token | token of {user} is outdated
        error | could not parse header of request {id} | request {id} has an unreadable header
        info | pool stats active={few} idle={n} waiting=0 | connections: {few} busy, {n} free"""),
    "worker": _phrases("""
        info | job {job} finished in {ms} ms | done with {job} after {ms} ms
        info | job {job} started on thread {thread} | thread {thread} takes {job}
        debug | fetched {n} items of partition {part} | partition {part} gave {n} items
        info | offset {seq} of partition {part} stored | partition {part} now at {seq}
        info | wrote {n} records, {kb} kB | {n} records ({kb} kB) written
        warn | job {job} needed attempt {try} | {job} was done at attempt {try}
        warn | item {num} skipped: empty {noun} | {noun} of item {num} is empty, skipped
        info | checkpoint {id} written in {ms} ms | {ms} ms for checkpoint {id}
        error | item {num} rejected: bad {word} value | bad value of {word} in item {num}
        info | worker {thread} idle for {sec} s | nothing to do for {sec} s on worker {thread}"""),
    "auth": _phrases("""
        info | issued token for {user}, ttl {n} min | {user} signed in, {n} min
        info | token of {user} verified in {ms} us | verified {user} ({ms} us)
        warn | wrong password for {user} from {ip} | {ip} gave a wrong password for {user}
        info | session of {user} refreshed | refreshed {user}
        info | key set served, {few} keys | handed out {few} keys
        warn | {user} locked for {sec} s after repeated attempts | too many attempts by {user}, locked {sec} s
        error | assertion from {ip} has an unknown audience | unknown audience in assertion of {ip}"""),
    "db": _phrases("""
        info | checkpoint complete: wrote {n} buffers, sync={ms} ms | checkpoint done, {n} buffers in {ms} ms
        info | connection authorized: user={word} database={noun} | {word} connected to {noun}
        info | duration: {ms} ms statement: SELECT * FROM {noun}s WHERE id = {num} | took {ms} ms: SELECT {noun} {num}
        info | automatic vacuum of table {word}.{noun}: removed {n} tuples | vacuumed {word}.{noun}, {n} tuples
        warn | statement on {noun}s took {ms}0 ms | {ms}0 ms for a statement on {noun}s
        info | temporary file: size {kb}000 | spilled {kb}000 bytes
        error | duplicate key value violates unique constraint {noun}s_pkey | key {num} already in {noun}s
        error | canceling statement due to user request | statement cancelled by its client
        info | replication lag of standby is {ms} ms | standby is {ms} ms behind
        warn | could not receive data from client: connection reset | a client went away without a word"""),
    "cache": _phrases("""
        debug | {n} clients connected, {mb} MB in use | {mb} MB held, {n} clients
        info | evicted {n} keys of {noun}s | {n} keys of {noun}s thrown out
        info | background save done in {ms} ms | snapshot written, {ms} ms
        info | {n} changes in 300 seconds, saving | saving after {n} changes
        warn | client {ip}:{port} is slow, output buffer {kb} kB | {kb} kB pending for {ip}:{port}
        info | hit rate {pct} of 100 in the last minute | last minute: {pct} hits in 100
        error | protocol error from client {ip}:{port} | unreadable command of {ip}:{port}"""),
    "queue": _phrases("""
        info | segment {seq} of {noun}-{part} rolled | rolled {noun}-{part} at {seq}
        info | group {word} committed offset {seq} for partition {part} | {word} is at {seq} in partition {part}
        info | appended {n} messages to {noun}-{part} | {noun}-{part}: {n} more
        debug | fetch from {ip} served {kb} kB | {kb} kB to {ip}
        warn | consumer {word}-{few} slow, lag {n} | {word}-{few} is {n} behind
        info | member {word}-{few} joined group | group has a new member {word}-{few}
        error | producer {ip} sent an oversized message, {kb} kB | message of {kb} kB from {ip} is too large
        info | deleted segment {seq} past retention | segment {seq} is past retention"""),
    "storage": _phrases("""
        info | put {word}/{id} {bytes} bytes in {ms} ms | stored {word}/{id}, {bytes} bytes, {ms} ms
        info | get {word}/{id} {bytes} bytes in {ms} ms | served {word}/{id}, {bytes} bytes, {ms} ms
        info | scrubbed {n} blocks, 0 repaired | {n} blocks checked, none bad
        warn | replica of {id} late by {ms} ms | copy of {id} came {ms} ms late
        info | deleted {n} expired objects of {word} | {n} objects of {word} expired
        error | read of {word}/{id} failed: no such object | nobody knows {word}/{id}
        debug | index page {num} split | split page {num}"""),
    "resolver": _phrases("""
        info | query {word}.internal A from {ip} | {ip} asks for {word}.internal
        debug | cache {pct} of 100 hit, {n} entries | {n} entries, {pct} hits in 100
        info | forwarded {n} queries, mean {ms} ms | {n} queries passed on, {ms} ms each
        warn | {word}.example: server {ip} answered late | late answer by {ip} for {word}.example
        error | {word}.example: NXDOMAIN for {ip} | no such name {word}.example (asked by {ip})"""),
    "control": _phrases("""
        info | reconciled {n} objects in {ms} ms | {n} objects as wanted ({ms} ms)
        info | job {job} finished, exit code 0 | {job}: exit 0
        info | scaled {word} between {few} and {few} replicas: no change | replicas of {word} unchanged
        warn | object {word}-{num} changed while reading, retried | {word}-{num} had to be read again
        debug | lease renewed for {sec} s | holding the lease for {sec} s
        error | image of {word} not in local store, pulled in {sec} s | had to pull {word}, {sec} s"""),
    "monitor": _phrases("""
        info | scraped {n} targets in {ms} ms | {n} targets read, {ms} ms
        info | rule group {word} evaluated in {ms} ms | evaluated {word}, {ms} ms
        warn | sample of {word} out of order, dropped {few} | {few} late samples of {word} dropped
        info | alert {word}{noun} resolved after {n} s: threshold not held | {word}{noun} cleared itself in {n} s
        error | target {word}-{num} gone, removed from scrape | {word}-{num} left, no longer read"""),
}

HEARTBEATS: tuple[Phrase, ...] = _phrases("""
    info | heartbeat ok, uptime {seq} s | alive, up {seq} s
    info | health check passed | self check fine
    debug | tick {seq}, {few} tasks pending | {few} tasks waiting at tick {seq}
    info | stats: {n} ops, p50 {ms} ms, p99 {ms}0 ms | {n} operations, median {ms} ms, p99 {ms}0 ms""")

JOBS: tuple[tuple[str, str, str, str], ...] = (
    ("started scheduled job {name}", "scheduled job {name} done: {n} rows in {ms}0 ms",
     "job {name} begins", "job {name} is through: {n} rows, {ms}0 ms"),
    ("compaction {name} started", "compaction {name} complete, {mb} MB reclaimed",
     "compacting {name}", "compacted {name}, {mb} MB freed"),
    ("rotating log {name}", "rotated log {name}, {kb} kB compressed",
     "log {name} is rotated", "log {name} rotated, {kb} kB packed"),
    ("backup {name} started", "backup {name} uploaded, {mb} MB", "saving {name}", "saved {name}, {mb} MB"))
"""Start and end of periodic work, in the first wording and in the second."""
