# SPDX-License-Identifier: Apache-2.0
"""made.py - a checker in Python for made.sh: a line of output for each line of input."""

import importlib
import sys


class Skip(Exception):
    """What keeps a data set from being checked here."""


def need(module, package):
    """The module; without it the data set is skipped."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Skip(f'{sys.executable} has no {module} (Debian: {package})') from None


def check_each(check):
    """Print what check(WORD, ...) returns for each line, or what it raised."""
    for line in sys.stdin:
        try:
            print(check(*line.split()), flush=True)
        except Skip as e:
            print('SKIP', e, flush=True)
        except Exception as e:
            print(repr(e), flush=True)
