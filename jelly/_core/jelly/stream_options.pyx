"""The stream options row of Jelly-RDF and of Jelly-Patch."""

from libc.stdint cimport int32_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

from functools import lru_cache

from jelly._core.base.constants cimport RDF_12
from jelly._core.base.fault cimport (
    BAD_LOGICAL, BAD_MESSAGES_TYPE, BAD_PHYSICAL, BAD_RDF_VERSION, BAD_STATEMENT_TYPE, BAD_STREAM_TYPE,
    BAD_VERSION, IS_PATCH, IS_RDF, MALFORMED, NAME_TABLE_LIMIT, NAME_TABLE_SMALL, OK, ROW_OPTION, TYPES_DISAGREE, fail, utf8_of,
)
from jelly._core.base.protobuf cimport (
    Writer, skip_any, take_low_bits, take_span, take_varint, write_data, write_number, written,
)
from jelly._core.base.utf8 cimport need_utf8
from jelly._core.jelly.lookup cimport NAMES
from jelly._core.jelly.column_schema cimport (
    COLUMN_VERSION, MIN_COLUMN_NAMES, NUMBERING_P, NUMBERING_S, OPTIONS_TYPES, OPTIONS_TYPES_END, TYPE_FLAT, TYPE_MESSAGES,
)

from jelly._options.options import LogicalType, PatchOptions, PhysicalType, physical_for

cdef enum:
    # Bit n: field n of the options is a number that we read.
    SHARED_FIELDS = (
        TABLE_FIELDS | 1 << pb.RDF_STREAM_OPTIONS_GENERALIZED_STATEMENTS | 1 << pb.RDF_STREAM_OPTIONS_RDF_STAR
    )
    RDF_FIELDS = (
        SHARED_FIELDS | 1 << pb.RDF_STREAM_OPTIONS_PHYSICAL_TYPE | 1 << pb.RDF_STREAM_OPTIONS_LOGICAL_TYPE
        | (1 << OPTIONS_TYPES_END) - (1 << OPTIONS_TYPES)  # of version 3
    )
    PATCH_FIELDS = SHARED_FIELDS | 1 << pb.RDF_PATCH_OPTIONS_STATEMENT_TYPE | 1 << pb.RDF_PATCH_OPTIONS_STREAM_TYPE


cdef int settle_columns(StreamOptionsRow* h, const uint8_t* at, Fault* fault) noexcept nogil:
    """The options of version 3: which numbering, which stream."""
    cdef int64_t* types = h.types
    if h.generalized or h.star or h.logical:
        return fail(fault, ROW_OPTION, at)
    h.numbering = NUMBERING_P
    if h.physical == 0:
        h.numbering = NUMBERING_S
        h.physical = <int32_t>types[0]
        types += 1
    if h.physical != pb.PHYSICAL_STREAM_TYPE_TRIPLES and h.physical != pb.PHYSICAL_STREAM_TYPE_QUADS:
        return fail(fault, BAD_STATEMENT_TYPE, at, h.physical)
    if types[0] != TYPE_FLAT and types[0] != TYPE_MESSAGES:
        return fail(fault, BAD_MESSAGES_TYPE, at, <int32_t>types[0])
    h.rdf = <int32_t>types[1]
    if h.rdf < 0 or h.rdf > RDF_12:
        return fail(fault, BAD_RDF_VERSION, at, h.rdf)
    # A message is to a reader what a frame of graphs or datasets is.
    h.logical = h.physical + (2 if types[0] == TYPE_MESSAGES else 0)
    # They are said now, and the RDF version may change.
    memset(h.types, 0, sizeof(h.types))
    return OK


cdef int read_options_fields(Reader* r, StreamOptionsRow* h, bint patch, int64_t known, Fault* fault) noexcept nogil:
    """The name of a stream and those fields of its options that are known numbers."""
    cdef int64_t tag, value
    while r.at < r.end:
        tag = take_varint(r)
        # Field 1 tells the two formats apart: the name of the stream is a string, the statement type a number.
        if tag == pb.RDF_STREAM_OPTIONS_STREAM_NAME_TAG:
            if patch:
                return fail(fault, IS_RDF, r.at)
            if take_span(r, &h.name) < 0:
                return fail(fault, MALFORMED, r.at)
            if need_utf8(&h.name, fault) != OK:
                return fault.code
        elif tag & 7 != 0 or tag >> 3 >= OPTIONS_FIELDS or known >> (tag >> 3) & 1 == 0:
            if tag == pb.RDF_PATCH_OPTIONS_STATEMENT_TYPE_TAG:
                return fail(fault, IS_PATCH, r.at)
            if skip_any(r, tag) < 0:
                return fail(fault, MALFORMED, r.at)
        else:
            value = take_varint(r)
            if value < 0:
                value = take_low_bits(r)
                if value < 0:
                    return fail(fault, MALFORMED, r.at)
            # The flags are 64 bits wide on the wire, all others 32.
            if tag == pb.RDF_STREAM_OPTIONS_GENERALIZED_STATEMENTS_TAG or tag == pb.RDF_STREAM_OPTIONS_RDF_STAR_TAG:
                value = value != 0
            (<int64_t*>h)[tag >> 3] = <uint32_t>value
    return OK


cdef int read_stream_options(Reader* r, StreamOptionsRow* h, bint patch, Fault* fault) noexcept nogil:
    """The options of a stream or of a patch: all fields but the types, which have a sign, have the same numbers in both."""
    cdef const uint8_t* at = r.at
    memset(h, 0, sizeof(StreamOptionsRow))
    if read_options_fields(r, h, patch, PATCH_FIELDS if patch else RDF_FIELDS, fault) != OK:
        return fault.code
    if patch:
        h.logical = h.physical
        h.physical = h.statement_type
    h.logical = <int32_t>h.logical
    h.physical = <int32_t>h.physical
    return settle_columns(h, at, fault) if h.version == COLUMN_VERSION and not patch else OK


cdef bint types_agree(StreamOptionsRow* h) noexcept nogil:
    """Section "Consistency with physical stream types": triples go with flat triples and graphs, the rest with the rest."""
    cdef int64_t base = h.logical % 10
    return base == 0 or (base == 1 or base == 3) == (h.physical == pb.PHYSICAL_STREAM_TYPE_TRIPLES)


cdef int check_types(StreamOptionsRow* h, bint strict, const uint8_t* at, Fault* fault) noexcept nogil:
    cdef int64_t base = h.logical % 10
    if h.physical < pb.PHYSICAL_STREAM_TYPE_TRIPLES or h.physical > pb.PHYSICAL_STREAM_TYPE_GRAPHS:
        return fail(fault, BAD_PHYSICAL, at, h.physical)
    if h.logical < 0 or base > 4 or (base == 0 and h.logical != 0):
        return fail(fault, BAD_LOGICAL, at, h.logical)
    # "You can choose to entirely ignore this table."
    if strict and not types_agree(h):
        return fail(fault, TYPES_DISAGREE, at, h.logical, h.physical)
    return OK


cdef int check_sizes(
    StreamOptionsRow* h, Limits* limits, int64_t least, const uint8_t* at, Fault* fault
) noexcept nogil:
    """The sizes of the lookup tables. That of names must not be less than `least`."""
    cdef int which
    for which in range(TABLES):
        if h.sizes[which] > limits.sizes[which]:
            return fail(fault, NAME_TABLE_LIMIT + which, at, h.sizes[which], limits.sizes[which])
    return OK if h.sizes[NAMES] >= least else fail(fault, NAME_TABLE_SMALL, at, h.sizes[NAMES], least)


cdef int check_stream_options(
    StreamOptionsRow* h, bint patch, bint strict, Limits* limits, const uint8_t* at, Fault* fault
) noexcept nogil:
    cdef int64_t newest = MAX_PATCH_VERSION if patch else MAX_VERSION
    if patch and h.physical != pb.PATCH_STATEMENT_TYPE_TRIPLES and h.physical != pb.PATCH_STATEMENT_TYPE_QUADS:
        return fail(fault, BAD_STATEMENT_TYPE, at, h.physical)
    if patch and (h.logical < pb.PATCH_STREAM_TYPE_FRAME or h.logical > pb.PATCH_STREAM_TYPE_PUNCTUATED):
        return fail(fault, BAD_STREAM_TYPE, at, h.logical)
    if h.version < 1 or h.version > newest:
        return fail(fault, BAD_VERSION, at, h.version, newest)
    if not patch and check_types(h, strict, at, fault) != OK:
        return fault.code
    return check_sizes(
        h, limits, MIN_PATCH_NAMES if patch else MIN_COLUMN_NAMES if h.version == COLUMN_VERSION else 0, at, fault
    )


cdef bint same_stream_options(StreamOptionsRow* x, StreamOptionsRow* y) noexcept nogil:
    cdef int64_t n = x.name.end - x.name.at
    return (
        memcmp(x, y, OPTIONS_FIELDS * sizeof(int64_t)) == 0 and n == y.name.end - y.name.at
        and (n == 0 or memcmp(x.name.at, y.name.at, n) == 0)
    )


# ---- writing

# Small messages are common, and so are their options: making these anew would take longer than the rest.
@lru_cache(64)
def settled(options, arity, namespaces):
    """The options with nothing left open."""
    changes = {}
    physical = physical_for(options, arity)
    if options.physical_type == PhysicalType.UNSPECIFIED:
        changes["physical_type"] = physical
    if options.version == 0:
        changes["version"] = 2 if namespaces else 1
    if options.version == COLUMN_VERSION:
        # They say no more than whether frames are messages: a reader has this type, and an index is of its options.
        logical = LogicalType(physical + (2 if options.is_grouped else 0))
        if logical != options.logical_type:
            changes["logical_type"] = logical
    return options.replace(**changes) if changes else options


@lru_cache(64)
def options_row(options) -> bytes:
    """The RdfStreamOptions or RdfPatchOptions message of some options; fields that are zero are left out."""
    flags = (
        (pb.RDF_STREAM_OPTIONS_GENERALIZED_STATEMENTS_TAG, options.generalized_statements),
        (pb.RDF_STREAM_OPTIONS_RDF_STAR_TAG, options.rdf_star),
    )
    if isinstance(options, PatchOptions):
        return options_message(b"", options, (
            *flags,
            (pb.RDF_PATCH_OPTIONS_STATEMENT_TYPE_TAG, options.statement_type),
            (pb.RDF_PATCH_OPTIONS_STREAM_TYPE_TAG, options.stream_type),
        ))
    return options_message(utf8_of(options.stream_name, "stream_name"), options, (
        *flags,
        (pb.RDF_STREAM_OPTIONS_PHYSICAL_TYPE_TAG, options.physical_type),
        (pb.RDF_STREAM_OPTIONS_LOGICAL_TYPE_TAG, options.logical_type),
    ))


@lru_cache(64)
def column_headers(options) -> tuple:
    """The RdfStreamOptions messages of version 3, by the RDF version that they announce; see `column_schema.pxd`."""
    cdef int statement = pb.RDF_STREAM_OPTIONS_PHYSICAL_TYPE_TAG if options.numbering == "P" else OPTIONS_TYPES << 3
    cdef int stream = (OPTIONS_TYPES + (options.numbering == "S")) << 3
    return tuple(
        options_message(utf8_of(options.stream_name, "stream_name"), options, (
            (statement, options.physical_type), (stream, options.is_grouped), (stream + 8, rdf_version),
        ))
        for rdf_version in range(4)
    )


cdef bytes options_message(bytes name, options, tuple fields):
    """The message of some options: the name of the stream, these fields, by their tags, and those of all options."""
    cdef Writer w
    memset(&w, 0, sizeof(Writer))
    if name:
        write_data(&w, pb.RDF_STREAM_OPTIONS_STREAM_NAME_TAG, name)
    for tag, value in sorted((
        *fields,
        (pb.RDF_STREAM_OPTIONS_MAX_NAME_TABLE_SIZE_TAG, options.max_name_table_size),
        (pb.RDF_STREAM_OPTIONS_MAX_PREFIX_TABLE_SIZE_TAG, options.max_prefix_table_size),
        (pb.RDF_STREAM_OPTIONS_MAX_DATATYPE_TABLE_SIZE_TAG, options.max_datatype_table_size),
        (pb.RDF_STREAM_OPTIONS_VERSION_TAG, options.version),
    )):
        write_number(&w, tag, value)
    try:
        if w.failed:
            raise MemoryError
        return written(&w)
    finally:
        free(w.buf)


def is_result_options(options) -> bool:
    """Whether these are options of Jelly-SPARQL, whose class few programs need."""
    from jelly._options.result_options import ResultOptions

    return isinstance(options, ResultOptions)
