"""The picture in the docstring of `errors` is the tree of classes, and every error travels."""

import pickle
import re
from types import ModuleType

import pytest

from pyhudi import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


def _drawn(module: ModuleType) -> dict[str, str]:
    """Read child -> parent from the picture."""
    parents: dict[str, str] = {}
    stack = ["HudiError"]
    for line in (module.__doc__ or "").splitlines():
        match = re.match(r"^([│ ]*)[├└]── (\w+)", line)
        if match:
            depth = len(match[1]) // 4 + 1
            stack[depth:] = [match[2]]
            parents[match[2]] = stack[depth - 1]
    return parents


def _real() -> dict[str, str]:
    return {
        kind.__name__: next(base.__name__ for base in kind.__mro__[1:] if issubclass(base, errors.HudiError))
        for kind in CLASSES
        if kind is not errors.HudiError
    }


def test_the_picture_is_the_tree():
    assert _drawn(errors) == _real()


def test_every_error_class_of_the_module_is_exported():
    defined = {
        name
        for name, one in vars(errors).items()
        if isinstance(one, type) and issubclass(one, Exception) and one.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_keeps_its_text_and_values_when_it_is_pickled(kind):
    error = kind("say what to do", path="a/b", count=3)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert str(back) == str(error) == "say what to do. path='a/b', count=3"
    assert back.values == {"path": "a/b", "count": 3}


def test_a_message_without_values_stands_alone():
    assert str(errors.NotFound("look elsewhere")) == "look elsewhere"
