"""The HTTP edge of the MCP server: nobody gets past it without the token, and nothing large, foreign or lost stays.

Streamable HTTP at `/mcp`. The token is asked for before the body is read; the official SDK then holds the body to its
limit and the headers Host and Origin to the allowed ones (a web page in the user's browser must not reach the server
by rebinding a name). A request whose client has gone tells its call so, which kills the tool.
"""

import hmac
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from enlist.evals.mcp.calls import Calls
from enlist.evals.mcp.server import LOST, make_server
from enlist.tools.runtime.errors import EnlistError

TOKEN_VARIABLE = "ENLIST_MCP_TOKEN"
SHORTEST_TOKEN = 16  # characters
BODY_LIMIT = 16 << 20  # bytes: a file of the largest size in base64, and room
MOST_SESSIONS = 100
MOST_CONNECTIONS = 200
GRACE = 5  # seconds that open connections get when the server ends
LOCAL = ("127.0.0.1", "localhost", "[::1]")
PATH = "/mcp"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


def read_token(file: Path | None) -> str:
    """The token in `file`, else in ENLIST_MCP_TOKEN; `bad_input` where there is none or it is short."""
    advice = "umask 077; openssl rand -hex 32 > mcp-token; enlist mcp --http --token-file mcp-token"
    if file is None and TOKEN_VARIABLE not in os.environ:
        raise EnlistError("bad_input", "serving over HTTP needs a token", allowed=f"--token-file or {TOKEN_VARIABLE}",
                          fix=advice)
    try:
        token = (os.environ[TOKEN_VARIABLE] if file is None else file.read_text(encoding="ascii")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"the token cannot be read: {error}", given=str(file), fix=advice) from error
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise EnlistError("bad_input", "the token is too short or no word", given=f"{len(token)} characters",
                          allowed=f"at least {SHORTEST_TOKEN} printable ASCII characters without blanks", fix=advice)
    return token


def guarded(app: App, token: str) -> App:
    """`app` for those who send `Authorization: Bearer TOKEN`, 401 for all others."""
    expected = token.encode()

    async def guard(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            return
        sent = b"".join(value for key, value in scope["headers"] if key == b"authorization")
        kind, _, given = sent.partition(b" ")
        if not hmac.compare_digest(given.strip(), expected) or kind.lower() != b"bearer":
            await send({"type": "http.response.start", "status": 401, "headers": [
                (b"www-authenticate", b"Bearer"), (b"content-length", b"0"), (b"connection", b"close")]})
            await send({"type": "http.response.body", "body": b""})
            return
        gone = False

        async def watched() -> Message:
            nonlocal gone
            message = await receive()
            gone = gone or message["type"] == "http.disconnect"
            return message

        scope[LOST] = lambda: gone
        await app(scope, watched, send)

    return guard


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at `host` and `port` (0: any that is free); `bad_input` where that cannot be."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(address[0]), int(address[1])), family=family, backlog=128)
    except (OSError, OverflowError) as error:
        raise EnlistError("bad_input", f"cannot listen there: {error}", given=f"{host}:{port}",
                          fix="name another --port, or 0 for any that is free") from error


def serve_http(calls: Calls, listening: socket.socket, token: str, hosts: Sequence[str] = ()) -> None:
    """Serve at a bound socket until the process is told to end; `hosts` are further names that clients call it by."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    names = [*LOCAL, *hosts]
    app = make_server(calls).streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=BODY_LIMIT, max_sessions=MOST_SESSIONS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[f"{name}{end}" for name in names for end in ("", ":*")],
            allowed_origins=[f"{scheme}://{name}{end}" for name in names for scheme in ("http", "https")
                             for end in ("", ":*")]))
    config = uvicorn.Config(guarded(app, token), log_level="warning", access_log=False, server_header=False,
                            limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=GRACE, lifespan="on")
    uvicorn.Server(config).run(sockets=[listening])
