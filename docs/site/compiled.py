"""Docstrings of compiled modules for mkdocstrings, which takes signatures and types from the stubs beside them."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from typing import Any

import griffe
from public import targets

# `Reader` or `jelly.messages` in a docstring, but not ``code``.
# The mark of what follows a document that is not final: a paragraph of a docstring.
_UNSTABLE = re.compile(r"^Unstable: (.+(?:\n.+)*)", re.M)
_CHOICES = re.compile(r" : \{([^}\n]+)\}, (optional|default)")
_REFERENCE = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)`(?!`)")


class CompiledDocstrings(griffe.Extension):
    """Add the docstrings of compiled modules, and make links of the names in all docstrings."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Complete a package that was loaded.

        Parameters
        ----------
        pkg : griffe.Module
            The package.
        **_ : Any
            What is not needed.
        """
        if pkg.path == "jelly":
            self._names = targets()
            self._complete(pkg)

    def _complete(self, thing: griffe.Object) -> None:
        if isinstance(thing, griffe.Module) and thing.filepath.suffix == ".pyi":  # type: ignore[union-attr]
            _describe(thing, importlib.import_module(thing.path))
        for member in thing.members.values():
            if isinstance(member, griffe.Object):
                self._complete(member)
        if thing.docstring is not None:
            # Of choices in braces the first would be shown as the default, whatever the signature says.
            text = _CHOICES.sub(r" : \1, \2", thing.docstring.value)
            thing.docstring.value = self._markdown(thing, text) if thing.is_module else self._linked(thing, text)

    def _markdown(self, module: griffe.Object, text: str) -> str:
        """The docstring of a module, which has examples between its paragraphs."""
        parts = []
        for part in text.split("\n\n"):
            if part.startswith(">>>"):
                parts.append(f"```pycon\n{part}\n```")
            elif part.startswith("    "):
                parts.append(f"```python\n{textwrap.dedent(part)}\n```")
            else:
                # A list of definitions: a term, and below it what it means.
                part = re.sub(r"^(\S.*)\n    (?=\S)", r"- \1: ", part, flags=re.M)
                parts.append(self._linked(module, re.sub(r"::$", ":", part)))
        return "\n\n".join(parts)

    def _linked(self, thing: griffe.Object, text: str) -> str:
        owner = thing if thing.is_class else thing.parent

        def link(match: re.Match[str]) -> str:
            name = match[1]
            if owner is not None and owner.is_class and name in owner.members:
                # A base that is not public has no page.
                target = f"{self._names[owner.name]}.{name}" if owner.name in self._names else ""
            else:
                # A module's own names come first: `read` is another function in jelly.messages.
                target = self._names.get(f"{thing.module.path}.{name}") or self._names.get(name, "")
            return f"[`{name}`][{target}]" if target else match[0]

        return _REFERENCE.sub(link, boxed(text))


def boxed(text: str) -> str:
    """A docstring with its mark of what is unstable as a box.

    >>> print(boxed("Unstable: this follows a draft."))
    !!! warning "Unstable"
    <BLANKLINE>
        This follows a draft. It may change in a MINOR version.
    """
    def box(found: re.Match[str]) -> str:
        text = found[1][0].upper() + found[1][1:] + " It may change in a MINOR version."
        return '!!! warning "Unstable"\n\n' + textwrap.indent(text, "    ")

    return _UNSTABLE.sub(box, text)


def _fields(stub: griffe.Object) -> dict[str, str]:
    """What the docstring of a class says of its parameters and attributes."""
    if stub.docstring is None:
        return {}
    kinds = (griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.attributes)
    sections = stub.docstring.parse("numpy", warn_unknown_params=False)
    return {item.name: item.description for section in sections if section.kind in kinds for item in section.value}


def _describe(stub: griffe.Object, thing: Any) -> None:
    """Give what a stub declares the docstrings of the compiled ``thing``."""
    if stub.docstring is None and thing.__doc__:
        stub.docstring = griffe.Docstring(inspect.cleandoc(thing.__doc__), parent=stub)
    fields = _fields(stub)
    for name, member in list(stub.members.items()):
        found = inspect.getattr_static(thing, name, None)
        if not isinstance(member, griffe.Object) or found is None:
            continue
        # An instance such as ANY has the docstring of its class. The methods of object describe themselves only.
        # A plain attribute of a compiled class has no docstring; that of the class describes it.
        text = getattr(getattr(found, "__func__", found), "__doc__", None) or fields.get(name)
        if text and not name.startswith("__"):
            member.docstring = griffe.Docstring(inspect.cleandoc(text), parent=member)
        if isinstance(member, griffe.Class):
            if "__new__" in member.members and "__init__" not in member.members:
                member.members["__new__"].name = "__init__"
                member.members["__init__"] = member.members.pop("__new__")
            _describe(member, found)
