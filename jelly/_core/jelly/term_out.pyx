"""Terms as rows and columns write them: lookup entries, IRIs and literals."""

from libc.stdlib cimport free

from jelly._core.base.fault cimport NO_MEMORY
from jelly._core.base.protobuf cimport write_byte, write_bytes, write_field, write_number, write_varint
from jelly._core.jelly.column_schema cimport ENTRY_ID, ENTRY_VALUES
from jelly._core.jelly.frame_writer cimport ROW_HEAD, put_row_head
from jelly._core.jelly.lookup cimport add_entry, entry_delta


cdef inline void put_entry(EncoderState* e, int which, int32_t id, const uint8_t* text, int64_t n) noexcept nogil:
    """An entry row."""
    cdef Writer* w = &e.body
    cdef int64_t wire = entry_delta(&e.tables[which], id)
    cdef int64_t size = len_number(wire) + (len_field(n) if n else 0)
    if reserve(w, size + ROW_HEAD) < 0:
        return
    put_row_head(w, e.name_tag + (which << 3), size)
    put_number(w, pb.RDF_NAME_ENTRY_ID_TAG, wire)
    if n:
        put_field(w, pb.RDF_NAME_ENTRY_VALUE_TAG, text, n)
    e.rows += 1


cdef void close_entries(EntriesOut* out) noexcept nogil:
    """End the packed entry that goes on."""
    if out.open:
        write_varint(&out.closed, out.values.n + len_number(out.id))
        write_number(&out.closed, ENTRY_ID, out.id)
        write_bytes(&out.closed, out.values.buf, out.values.n)
        out.values.n = 0
        out.open = False


cdef void put_packed(EntriesOut* out, uint8_t tag, Lru* table, int32_t id, const uint8_t* text, int64_t n) noexcept nogil:
    """A new entry: a further value of the packed entry if its id is the next one, else the first of another."""
    if not out.open or id != table.last + 1:
        close_entries(out)
        write_byte(&out.closed, tag)
        out.id = 0 if id == table.last + 1 else id
        out.open = True
    table.last = id
    write_field(&out.values, ENTRY_VALUES, text, n)


cdef int32_t new_entry(EncoderState* e, int which, const uint8_t* text, int64_t n, uint32_t hash) noexcept nogil:
    """Make an entry and write it, see entry_id."""
    cdef Lru* table = &e.tables[which]
    cdef int32_t id
    if e.columnar and not take_cost(e, n + VALUE_COST):
        return 0
    id = add_entry(table, text, n, hash, e.statement)
    if id < 0:
        return fail(&e.fault, NO_MEMORY, NULL)
    if id == 0:
        e.columns.full = which
    elif e.columnar:
        put_packed(&e.columns.entries[which], e.name_tag + (which << 3), table, id, text, n)
    else:
        put_entry(e, which, id, text, n)
    return id


cdef void put_entries(EncoderState* e, EntriesOut* out) noexcept nogil:
    close_entries(out)
    write_bytes(&e.body, out.closed.buf, out.closed.n)


cdef void clear_entries(EntriesOut* out) noexcept nogil:
    out.closed.n = out.values.n = 0
    out.open = False


cdef void free_entries(EntriesOut* out) noexcept nogil:
    free(out.closed.buf)
    free(out.values.buf)
