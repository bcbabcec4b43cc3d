"""`mcp serve --endpoint NAME`: one endpoint over standard input and output, until the client goes away. {M01}

Read without click, since an agent's client waits for the first answer; other words go to the administration, which
explains them.
"""

from __future__ import annotations

from rukh.values.registry import EXIT_CALLER_CANCELLED, EXIT_DEADLINE, EXIT_SCOPE_CANCELLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rukh.cli.context import Context

# Why a connection ended otherwise than by the end of its input; the statuses are those of `mcp.serve`. RK-MCP-044
_ENDS = {
    EXIT_DEADLINE: "the connection was closed: a line was not finished, or an answer not read, for 2 seconds",
    EXIT_SCOPE_CANCELLED: "the connection ended: nobody reads the answers any more, or it was told to stop",
    EXIT_CALLER_CANCELLED: "the connection ended: it was interrupted",
}


def serve_words(context: Context, words: list[str]) -> int:
    """Serve the endpoint that `--endpoint` names; anything else is explained by the administration."""
    if len(words) == 1 and words[0].startswith("--endpoint="):
        return serve(context, words[0].partition("=")[2])
    if len(words) == 2 and words[0] == "--endpoint":
        return serve(context, words[1])
    from rukh.cli.admin import administer

    return administer(context, ["mcp", "serve", *words])


def serve(context: Context, endpoint: str) -> int:
    """Serve `endpoint`; the exit status. Raises RKA002, RKA005, RKM014, RKS…"""
    from rukh.cli.output import write_err
    from rukh.host.invocation import Host
    from rukh.host.settling import settle_records
    from rukh.host.spawner import Spawner
    from rukh.mcp.adapter import Adapter
    from rukh.mcp.endpoint import EndpointHost, attach
    from rukh.mcp.serve import claim_stdio, serve_stdio
    from rukh.store.home import open_home
    from rukh.store.store import Store
    from rukh.values.registry import LIMIT_CONCURRENCY

    home = open_home(context.home, create=False)
    stdin, stdout = claim_stdio()
    spawner = Spawner.start(one_call=False)
    store = Store(home)
    host = Host(store, spawner, keep=True)
    try:
        attached = attach(store, endpoint, context.name)
        settle_records(store)
        active = store.profiles.active()
        limit = (
            active.profile["limits"].get("concurrency", LIMIT_CONCURRENCY) if active else LIMIT_CONCURRENCY
        )
        adapter = Adapter(
            EndpointHost(host, attached),
            attached.binding,
            name=context.name,
            version=context.version,
        )
        status = serve_stdio(
            adapter,
            stdin,
            stdout,
            concurrency=min(limit, LIMIT_CONCURRENCY),
            behind=store.database.fold,
        )
        if status in _ENDS:
            write_err(f"{context.name}: {_ENDS[status]}\n".encode())
        return context.status(status)
    finally:
        spawner.close()
        host.close()
        store.close()
