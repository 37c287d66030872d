"""Functions of the core that Python does not see, called as the C functions that they are."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_void_p, py_object
from types import ModuleType

from jelly._core.algebra import sha2
from jelly._core.base import fault, protobuf
from jelly._core.base.protobuf import _take_varint
from jelly._core.jena import numeric, prefix_map, thrift


class Reader(ctypes.Structure):
    _fields_ = [("at", c_void_p), ("end", c_void_p)]


class Fault(ctypes.Structure):
    _fields_ = [("code", c_int), ("at", c_void_p), ("a", c_int64), ("b", c_int64)]


class Value(ctypes.Structure):
    _fields_ = [("kind", c_int), ("whole", c_int64), ("scale", c_int32), ("real", c_double)]


class Prefix(ctypes.Structure):
    _fields_ = [("text", c_void_p), ("n_name", c_int64), ("n_iri", c_int64)]


class PrefixTable(ctypes.Structure):
    _fields_ = [
        ("items", POINTER(Prefix)), ("n", c_int32), ("cap", c_int32), ("limit", c_int32), ("last", c_int32),
        ("n_text", c_int64), ("names", c_void_p), ("spaces", c_void_p), ("mask", c_uint32), ("n_odd", c_int32),
        ("indexed", c_int),
    ]  # fmt: skip


def function(module: ModuleType, name: str, result, *arguments, python: bool = False):
    """A function that the .pxd of a module declares."""
    capsule = module.__pyx_capi__[name]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = c_char_p, [py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = c_void_p, [py_object, c_char_p]
    kind = ctypes.PYFUNCTYPE if python else ctypes.CFUNCTYPE
    return kind(result, *arguments)(pointer_of(capsule, name_of(capsule)))


_TEXT = (c_char_p, c_int64)
_double = function(numeric, "format_double", c_int64, c_double, c_char_p)
_decimal = function(numeric, "format_decimal", c_int64, c_int64, c_int32, c_char_p)
_value = function(numeric, "parse_value", c_int, *_TEXT, *_TEXT, POINTER(Value))
_skip_any = function(protobuf, "skip_any", c_int, POINTER(Reader), c_int64)
_skip = function(thrift, "skip_value", c_int, POINTER(Reader), c_int, c_int, POINTER(Fault))
_set = function(prefix_map, "set_prefix", c_int, POINTER(PrefixTable), POINTER(Reader), POINTER(Reader), POINTER(Fault))
_find = function(prefix_map, "find_prefix", c_int32, POINTER(PrefixTable), POINTER(Reader))
_space = function(prefix_map, "find_space", c_int32, POINTER(PrefixTable), *_TEXT)
_free = function(prefix_map, "free_prefixes", None, POINTER(PrefixTable))
_numbers = function(sha2, "fill_sha_numbers", c_int, c_char_p, python=True)
_begin = function(sha2, "begin_sha", None, c_char_p, c_char_p, c_int)
_add = function(sha2, "add_sha", None, c_char_p, *_TEXT)
_end = function(sha2, "end_sha", None, c_char_p, c_char_p)
_error = function(fault, "fault_error", py_object, POINTER(Fault), py_object, python=True)

MAX_NUMBER = 4096 + 24  # that of jena/numeric.pxd
VALUE_INTEGER, VALUE_DECIMAL, VALUE_DOUBLE = 1, 2, 3


def format_double(value: float) -> str:
    out = ctypes.create_string_buffer(MAX_NUMBER)
    return out[: _double(value, out)].decode()


def format_decimal(value: int, scale: int) -> str:
    out = ctypes.create_string_buffer(MAX_NUMBER)
    return out[: _decimal(value, scale, out)].decode()


def parse_value(datatype: str, text: str):
    """The value of an XML Schema datatype: an int, (unscaled, scale) or a float; None where there is none."""
    value = Value()
    iri, data = ("http://www.w3.org/2001/XMLSchema#" + datatype).encode(), text.encode()
    _value(iri, len(iri), data, len(data), byref(value))
    if value.kind == VALUE_DECIMAL:
        return value.whole, value.scale
    return {VALUE_INTEGER: value.whole, VALUE_DOUBLE: value.real}.get(value.kind)


def skip_field(data: bytes) -> int:
    """Number of bytes of the first field of `data`, with its tag, or -1 if it is malformed."""
    tag, used = _take_varint(data)
    memory = ctypes.create_string_buffer(data, len(data) or 1)
    begin = ctypes.addressof(memory)
    reader = Reader(begin + used, begin + len(data))
    return -1 if tag < 0 or _skip_any(byref(reader), tag) < 0 else reader.at - begin


def skip_value(data: bytes, kind: int) -> int:
    """Bytes that a value of Thrift takes. Raises what a reader would."""
    memory = ctypes.create_string_buffer(data, len(data) or 1)
    begin = ctypes.addressof(memory)
    reader, wrong = Reader(begin, begin + len(data)), Fault()
    if _skip(byref(reader), kind, 0, byref(wrong)) < 0:
        raise _error(byref(wrong), {"offset": wrong.at - begin})
    return reader.at - begin


def digest(data: bytes, wide: bool = False, step: int = 1000) -> str:
    """The SHA-256 of bytes that are added `step` at a time, or with `wide` the SHA-384."""
    numbers, state, digits = (ctypes.create_string_buffer(size) for size in (96 * 8, 512, 96))
    _numbers(numbers)
    _begin(state, numbers, wide)
    for i in range(0, len(data), step):
        part = data[i : i + step]
        _add(state, part, len(part))
    _end(state, digits)
    return digits.raw[: 96 if wide else 64].decode()


def reader(data: bytes) -> Reader:
    """A Reader of bytes, which must stay."""
    begin = ctypes.cast(data, c_void_p).value or 0
    return Reader(begin, begin + len(data))


class Prefixes:
    """A table of prefixes of RDF Binary."""

    def __init__(self, limit: int = 1000) -> None:
        self.table = PrefixTable(limit=limit)

    def __del__(self) -> None:
        _free(byref(self.table))

    def set(self, name: bytes, iri: bytes) -> None:
        wrong = Fault()
        if _set(byref(self.table), byref(reader(name)), byref(reader(iri)), byref(wrong)) < 0:
            raise _error(byref(wrong), {})

    def parts(self, item: int) -> tuple[bytes, bytes]:
        """Its name and its namespace."""
        found = self.table.items[item]
        text = ctypes.string_at(found.text, found.n_name + found.n_iri)
        return text[: found.n_name], text[found.n_name :]

    def find(self, name: bytes) -> bytes | None:
        """The namespace of a name, or None."""
        item = _find(byref(self.table), byref(reader(name)))
        return None if item < 0 else self.parts(item)[1]

    def shorten(self, iri: bytes) -> bytes | None:
        """The name of the prefix for an IRI, or None."""
        item = _space(byref(self.table), iri, len(iri))
        return None if item < 0 else self.parts(item)[0]
