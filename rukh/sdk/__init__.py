"""The Python SDK: what an extension author imports, and what runs it. Standard library only, nothing of rukh.

`bootstrap.py` is what the host starts; `rukh_sdk` is what the extension imports. Neither is imported by the host.
"""
