"""The owner's verbs about endpoints: task issue, mcp serve, mcp tools, mcp config."""

from __future__ import annotations

from typing import Any

import click

from rukh.cli.admin.homes import active_of, endpoint_of, opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.context import Context
from rukh.cli.serve import serve
from rukh.contract.policy import LOCAL_USER
from rukh.mcp.config import config_entry, tools_document
from rukh.mcp.endpoint import binding_of, view_of
from rukh.values.canonical import canonical


@click.group("task")
def task_verb() -> None:
    """What an endpoint may use up."""


@task_verb.command("issue")
@click.option("--endpoint", required=True, metavar="NAME", help="The endpoint that works under the task.")
@json_option
@click.pass_obj
def task_issue(context: Context, endpoint: str, as_json: bool) -> Shown:
    """Issue a task for an endpoint, with the budget of its preset; an older task of it ends."""
    with opened(context, create=False) as store:
        active = active_of(store)
        endpoint_of(active, endpoint)
        binding = binding_of(active, endpoint)
        task = store.tasks.issue(endpoint, binding, binding["calls"], binding["windowMs"], subject=LOCAL_USER)
    document = {"task": task.id, "endpoint": endpoint, "actor": binding["actor"]}
    if binding["calls"] is not None:
        document["calls"] = binding["calls"]
    return Shown(document, json=as_json)


@click.group("mcp")
def mcp_verb() -> None:
    """Endpoints for agents, over the Model Context Protocol."""


@mcp_verb.command("serve")
@click.option("--endpoint", required=True, metavar="NAME", help="The endpoint to serve.")
@click.pass_obj
def mcp_serve(context: Context, endpoint: str) -> int:
    """Serve an endpoint on standard input and output, until the client goes away."""
    return serve(context, endpoint)


@mcp_verb.command("tools")
@click.option("--endpoint", required=True, metavar="NAME", help="The endpoint to look through.")
@json_option
@click.pass_obj
def mcp_tools(context: Context, endpoint: str, as_json: bool) -> Shown:
    """Print what an agent would see at an endpoint. Starts nothing."""
    with opened(context, create=False) as store:
        active = active_of(store)
        endpoint_of(active, endpoint)
        document = tools_document(view_of(store, active, endpoint))
    return Shown(document, json=as_json, text=_tools_text(document))


@mcp_verb.command("config")
@click.option("--endpoint", required=True, metavar="NAME", help="The endpoint to be entered.")
@click.option("--json", "as_json", is_flag=True, help="The entry is JSON in any case.")
@click.pass_obj
def mcp_config(context: Context, endpoint: str, as_json: bool) -> Shown:
    """Print the entry to paste into a client's configuration."""
    with opened(context, create=False) as store:
        endpoint_of(active_of(store), endpoint)
    return Shown(config_entry(context.program, endpoint, context.home, app=context.name), json=True)


def _tools_text(document: dict[str, Any]) -> str:
    """One block a tool: name, title, the arguments as a schema, and the description."""
    from rukh.cli.text import printable

    lines = [f"{document['namespace']} at {document['revision']}: {len(document['tools'])} tools"]
    for tool in document["tools"]:
        lines += ["", tool["name"], f"  {printable(tool['title'])}"]
        if tool.get("description"):
            lines.append(f"  {printable(tool['description'])}")
        lines.append(f"  input {canonical(tool['inputSchema'])}")
    return "\n".join(lines) + "\n"
