"""`enlist mcp`: serve the tools by the Model Context Protocol."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist mcp --tools solar-capture,solar-bounds\n"
                    "  enlist mcp --http --port 8977 --token-file mcp-token\n\n"
                    "A client starts the first by itself: its command is `enlist`, its arguments are `mcp`.")
def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP; without it over standard input and "
                                       "output, for the client that started this.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 for any that is free.")] = 8977,
    token_file: Annotated[Path | None, typer.Option(
        "--token-file", metavar="FILE", help="Holds the token that clients must send; else "
                                             "ENLIST_MCP_TOKEN.")] = None,
    allow_host: Annotated[list[str] | None, typer.Option(
        "--allow-host", metavar="NAME", help="A further name that clients call it by; may be repeated.")] = None,
    tools: Annotated[str | None, typer.Option("--tools", metavar="A,B", help="Serve only these tools.")] = None,
    at_once: Annotated[int | None, typer.Option("--at-once", metavar="N", min=1, max=256,
                                                help="Calls that run at the same time.")] = None,
) -> int:
    """Serve the tools to MCP clients, each with its schema, limits and sandbox."""
    from enlist.evals.cli.settings import settings, store
    from enlist.evals.mcp.calls import AT_ONCE, Calls
    from enlist.evals.mcp.http import PATH, bind, read_token, serve_http
    from enlist.evals.mcp.server import serve_stdio, served
    from enlist.tools.runtime.errors import EnlistError

    try:
        import anyio
        import mcp as sdk  # noqa: F401
    except ImportError as error:
        raise EnlistError("not_installed", f"serving by MCP needs the extra `mcp` ({error})",
                          fix="pip install 'enlist[mcp]'") from error
    chosen = served(None if tools is None else [name.strip() for name in tools.split(",") if name.strip()])
    token = read_token(token_file) if http else ""
    with store(settings()) as memory:
        calls = Calls(chosen, memory, paths=not http, at_once=at_once or AT_ONCE)
        try:
            if http:
                listening = bind(host, port)
                print(f"{len(chosen)} tools at http://{host}:{listening.getsockname()[1]}{PATH}", file=sys.stderr,
                      flush=True)
                serve_http(calls, listening, token, allow_host or ())
            else:
                anyio.run(serve_stdio, calls)
        finally:
            calls.close()
    return 0
