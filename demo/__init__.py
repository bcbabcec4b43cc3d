"""The walk of `make demo`: one command from its descriptor to a terminal and an agent, in a temporary home."""
