"""Finds the policy class that a person named as `module:Class`, and checks what it says."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from types import ModuleType

from .facts import wrong_attribute
from .notes import error_text
from .policy import Policy
from .usage import UsageError, quoted

OPTION = "--policy"
EXPECTED = "module:Class, such as wave:Wave"


def load_policy(text: str) -> type[Policy]:
    """Raises UsageError."""
    module_name, colon, class_name = text.partition(":")
    if not (module_name and colon and class_name):
        raise UsageError(OPTION, EXPECTED, quoted(text))
    policy = getattr(_import(module_name), class_name, None)
    if not (inspect.isclass(policy) and issubclass(policy, Policy)):
        there = ", ".join(_policies(sys.modules[module_name])) or "none"
        expected = f"a class of {module_name} that extends Policy ({there})"
        raise UsageError(OPTION, expected, quoted(class_name))
    wrong = wrong_attribute(policy)
    if wrong is not None:
        attribute, expected, found = wrong
        raise UsageError(f"{class_name}.{attribute}", expected, found)
    return policy


def source_digest(policy: type[Policy]) -> bytes:
    """SHA-256 of the file that the class was read from, which a robot's run holds this host to.
    What that file imports is not digested. Empty where there is no file."""
    file = getattr(sys.modules[policy.__module__], "__file__", None)
    try:
        with open(file or "", "rb") as source:
            return hashlib.sha256(source.read()).digest()
    except OSError:
        return b""


def _import(module_name: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name.partition(".")[0]:
            raise UsageError(
                OPTION, f"{module_name} to import what there is", str(error)
            ) from error
        expected = "a module in this folder or on PYTHONPATH, without .py"
        raise UsageError(OPTION, expected, quoted(module_name)) from error
    except KeyboardInterrupt:
        raise  # a person waits no longer
    except BaseException as error:  # whatever a person's module does as it is imported
        spec = importlib.util.find_spec(module_name)
        file = (spec.origin if spec is not None else None) or ""
        raise UsageError(OPTION, "a module that imports", error_text(error, file)) from error


def _policies(module: ModuleType) -> list[str]:
    classes = inspect.getmembers(module, inspect.isclass)
    return [name for name, each in classes if issubclass(each, Policy) and each is not Policy]
