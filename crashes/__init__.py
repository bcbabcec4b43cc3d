"""Crash sweeps: real verbs of the program, stopped or failed at every point that matters, and what is left looked at.

`python -m crashes` (`make crashes`) sweeps everything and prints a line for each verb and fault. A sweep

1. runs the verb once untouched and counts the points: write, rename, sync and their like (`points`),
2. runs it again on a fresh copy of the same home for each point, with one fault there (`faults`),
3. asks the same of what is left each time (`oracle`): the version that is reported is the version that runs, the old
   or the new one; what was acknowledged is there; recovery goes through and changes neither; the verb goes through
   when it is tried again.

Faults come from outside of the program: `strace` kills at a system call or makes it fail, an SQLite VFS throws away
what was never synced. Nothing in the program knows that it is being tested.
"""
