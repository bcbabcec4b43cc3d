"""Rukh: extensions that an owner trusts, as words for people and as tools for agents."""

__version__ = "0.1.0"
