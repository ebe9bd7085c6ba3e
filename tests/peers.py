"""Other packages that implement the same methods, for the tests that compare with them."""

import importlib
import os
import warnings
from unittest import mock

import pytest


def peer(name):
    """A module of another package. Without the extra `peers` the tests are skipped, or fail where
    CI is set, since there it must not go unnoticed.

    Nothing is asked of a model hub, and one message is let pass: x-transformers is written with a
    decorator that torch calls deprecated.
    """
    with warnings.catch_warnings(), mock.patch.dict(os.environ, HF_HUB_OFFLINE="1"):
        warnings.filterwarnings(
            "ignore",
            "`torch.jit.script` is (deprecated|not supported in Python 3.14)",
            DeprecationWarning,
        )
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0]:
                raise
            reason = f"no {error.name}: the extra `peers` is not installed"
    if os.environ.get("CI"):
        raise RuntimeError(reason)
    pytest.skip(reason, allow_module_level=True)
