"""The first code of a Python child: `bootstrap.py RELEASE CACHE MODULE:FUNCTION`.

A script is compiled anew at every start, so that all but these lines stands in the package, whose byte code is kept.
The SDK is found behind the standard library, before the release comes onto the path.
"""

import sys

sys.path.append(__file__.rpartition("/")[0])
__import__("rukh_sdk._session", fromlist=["serve"]).serve(*sys.argv[1:4])
