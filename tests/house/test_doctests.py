"""Every example in a docstring runs, those of the compiled rooms too."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
from support.libraries import module_names

import jelly

FOUND = {name for _, name, _ in pkgutil.walk_packages(jelly.__path__, "jelly.")}
MODULES = sorted({*FOUND, *module_names()} - {name for name in FOUND if name.endswith((".__main__", ".compiled"))})
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


# Operations without contents; those of `jelly.patch.Patch` show them.
SHOWN = {"Abort", "Commit", "Operation", "Start"}


def test_public_names_have_examples():
    """Whatever a module exports and is no error shows how it is used."""
    missing, found = [], 0
    public = [name for name in MODULES if "._" not in name and not name.startswith("jelly.cli")]
    for name in ("jelly", *public):
        try:
            module = importlib.import_module(name)
        except jelly.MissingExtraError:
            continue
        for each in set(getattr(module, "__all__", ())) - SHOWN:
            thing = getattr(module, each)
            if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
                found += 1
                missing += [f"{name}.{each}"] * (">>>" not in (inspect.getdoc(thing) or ""))
    assert found > 100
    assert not missing
