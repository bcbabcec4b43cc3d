"""Rukh: an embeddable core for a named command line with trusted, installable extensions."""

__version__ = "0.1.0"
