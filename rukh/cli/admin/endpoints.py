"""The owner's verbs about endpoints: task issue, mcp serve, mcp tools, mcp config."""

from __future__ import annotations

from typing import Any

import click

from rukh.cli.admin.homes import active_of, looked_at, now_ms, opened
from rukh.cli.admin.shown import Shown, json_option
from rukh.cli.context import Context
from rukh.cli.serve import serve
from rukh.contract.grammar import IDENTITY
from rukh.contract.policy import LOCAL_USER
from rukh.mcp.config import config_entry, tools_document
from rukh.mcp.endpoint import binding_of, entry_of, view_of
from rukh.mcp.explain import explain
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
        entry_of(active, endpoint)
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
@click.option(
    "--explain", "identity", metavar="IDENTITY", help="Why this command is a tool of it, or is not."
)
@json_option
@click.pass_obj
def mcp_tools(context: Context, endpoint: str, identity: str | None, as_json: bool) -> Shown:
    """Print what an agent would see at an endpoint. Starts nothing."""
    if identity is not None:
        return _explained(context, endpoint, identity, as_json)
    with looked_at(context) as (records, active):
        document = tools_document(view_of(records, active, endpoint))
    return Shown(document, json=as_json, text=_tools_text(document))


def _explained(context: Context, endpoint: str, identity: str, as_json: bool) -> Shown:
    if not IDENTITY.matches(identity):
        raise click.UsageError(f"{identity!r} is no identity: write {IDENTITY.says}")
    with looked_at(context) as (records, active):
        now = now_ms(records)
        document = explain(records, active, identity, endpoint, program=context.name, now=now)
    return Shown(document, json=as_json, text=_explain_text(document), status=0 if document["tool"] else 1)


@mcp_verb.command("config")
@click.option("--endpoint", required=True, metavar="NAME", help="The endpoint to be entered.")
@click.option("--json", "as_json", is_flag=True, help="The entry is JSON in any case.")
@click.pass_obj
def mcp_config(context: Context, endpoint: str, as_json: bool) -> Shown:
    """Print the entry to paste into a client's configuration."""
    with looked_at(context) as (_, active):
        entry_of(active, endpoint)
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


_MARKS = {"met": "ok", "unmet": "NO", "unknown": "?"}


def _explain_text(document: dict[str, Any]) -> str:
    """The verdict, one line a condition, and below an unmet one its rule, its place and its mend."""
    from rukh.cli.text import printable

    tool, call = _VERDICTS[document["tool"], document["admitted"]]
    changed = any(c["condition"] == "unmodified" and c["state"] == "unmet" for c in document["conditions"])
    call += _CHANGED if changed and document["admitted"] else ""
    lines = [f"{document['identity']} {tool} of {document['endpoint']} at {document['revision']}{call}"]
    if "name" in document:
        lines.append(f"  {document['name']}")
    for condition in document["conditions"]:
        found = f": {printable(condition['found'])}" if "found" in condition else ""
        lines.append(f"{_MARKS[condition['state']]:>2} {condition['says']}{found}")
        if condition["state"] == "unmet":
            lines.append(
                f"     {condition['rule']} at {printable(condition['place'])}, decides the {condition['decides']}"
            )
            lines.append(f"     mend: {printable(condition['mend'])}")
    return "\n".join(lines) + "\n"


# A call looks at the files no more than a list does; the owner must not take "admitted" for "as verified". RK-EXPL-042
_CHANGED = ", and would run code that was changed since it was verified: no call is stopped by that; see doctor --fix"
_VERDICTS = {
    (True, True): ("is a tool", "; a call would be admitted"),
    (True, False): ("is a tool", "; a call would be refused"),
    (False, False): ("is no tool", ""),
}
