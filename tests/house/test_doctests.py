"""Every example in a docstring runs, those of the compiled rooms too."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import jelly

MODULES = [name for _, name, _ in pkgutil.walk_packages(jelly.__path__, "jelly.") if not name.endswith("__main__")]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions too: a decorator is from another module."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if inspect.isroutine(object) else object)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    try:
        module = importlib.import_module(name)
    except jelly.MissingExtraError as error:
        pytest.skip(str(error))
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for example in Finder().find(module, name):
        runner.run(example)
    assert not runner.failures


# What functions give back; their examples show these.
RESULTS = {"Canonical", "Conversion", "Frame", "FrameInspection", "Inspection", "JellyFile", "Part", "Problem"}


def test_public_names_have_examples():
    """Whatever `jelly` exports and is no error, enum or result shows how it is used."""
    missing = []
    for name in set(jelly.__all__) - RESULTS:
        thing = getattr(jelly, name)
        if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception | int)):
            missing += [name] * (">>>" not in (thing.__doc__ or ""))
    assert not missing
