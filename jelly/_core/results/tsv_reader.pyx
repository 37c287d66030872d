"""SPARQL 1.1 Query Results TSV Format: lines of terms as in Turtle."""

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memchr

from jelly._core.base.characters cimport LINE_END, describe, is_digit, is_label_letter, is_letter, width
from jelly._core.base.fault cimport (
    EXPECTED, HELD_LIMIT, LINE_CUT, NEED_MORE, NEED_TABLES, OK, ROW_WIDTH, fail,
)
from jelly._core.base.protobuf cimport Reader
from jelly._core.ntriples.term_reader cimport OBJECT, nt_read_term
from jelly._core.results.rows cimport OF_REST, OF_VARIABLE, add_name, begin_row, cell_of, end_row, expected


cdef bint next_cell(Reader* line, Reader* cell) noexcept nogil:
    """Take the first cell of the rest of a line, without spaces around it; False if it is the last."""
    cdef const uint8_t* stop = <const uint8_t*>memchr(line.at, 0x09, line.end - line.at)
    cell.at = line.at
    cell.end = line.end if stop == NULL else stop
    line.at = cell.end if stop == NULL else stop + 1
    while cell.at < cell.end and cell.at[0] == 0x20:
        cell.at += 1
    while cell.at < cell.end and ((cell.end - 1)[0] == 0x20 or (cell.end - 1)[0] == 0x0D):
        cell.end -= 1
    return stop != NULL


cdef const uint8_t* find_variable_end(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """The end of the name of a variable of SPARQL, or `at` where there is none."""
    cdef const uint8_t* begin = at
    while at < end and (
        is_letter(at[0]) or is_digit(at[0]) or at[0] == 0x5F
        or (at[0] >= 0x80 and is_label_letter(describe(at, end), at == begin))
    ):
        at += width(at[0])
    return at


cdef int take_names(TextRows* t, Reader line) noexcept nogil:
    """The line of the variables, which has none where it is empty."""
    cdef Reader cell
    cdef bint more = True
    while more:
        more = next_cell(&line, &cell)
        if not more and t.width == 0 and cell.at == cell.end:
            return OK
        t.at = cell.at
        if cell.at == cell.end or (cell.at[0] != 0x3F and cell.at[0] != 0x24):
            return expected(t, OF_VARIABLE)
        cell.at += 1
        t.at = find_variable_end(cell.at, cell.end)
        if t.at == cell.at or t.at < cell.end:
            return expected(t, OF_VARIABLE)
        if add_name(t, &cell) < 0:
            return t.fault.code
    return OK


cdef int take_cells(TextRows* t, Reader line) noexcept nogil:
    """The line of a row."""
    cdef Reader cell
    cdef int64_t column = 0
    cdef bint more = True
    cdef const uint8_t* begin = line.at
    if begin_row(t) < 0:
        return t.fault.code
    while more:
        more = next_cell(&line, &cell)
        if cell.at < cell.end and column < t.width:
            # Numbers, booleans and quotes as in Turtle, but `_:` does not make a blank node of an IRI.
            t.lines.patch = cell.at[0] != 0x3C or cell.end - cell.at < 2 or cell.at[1] != 0x5F
            if nt_read_term(&t.lines, cell.at, cell.end - cell.at, OBJECT, cell_of(t, column)) < 0:
                if t.lines.fault.code == LINE_CUT:
                    return fail(&t.fault, EXPECTED, cell.end, LINE_END, OF_REST)
                t.fault = t.lines.fault
                return t.fault.code
        column += 1
    if column != t.width and (t.width > 0 or cell.at < cell.end or column > 1):
        return fail(&t.fault, ROW_WIDTH, begin, column, t.width)
    return end_row(t)


cdef int take_tsv(TextRows* t) noexcept nogil:
    """The next line."""
    cdef Reader line
    cdef const uint8_t* stop = <const uint8_t*>memchr(t.at, 0x0A, t.end - t.at) if t.at < t.end else NULL
    cdef int status = NEED_TABLES
    line.at = t.at
    line.end = t.end if stop == NULL else stop
    t.lines.batch = t.batch
    if line.end - line.at > t.max_held:
        return fail(&t.fault, HELD_LIMIT, t.at, t.max_held, 0)
    if stop == NULL and (not t.final or (t.at == t.end and t.begun)):
        return NEED_MORE
    if t.begun:
        status = take_cells(t, line)
    elif take_names(t, line) < 0:
        status = t.fault.code
    else:
        t.begun = True
    t.at = line.at if status < 0 else line.end if stop == NULL else stop + 1
    return status


def is_variable(bytes name not None) -> bool:
    """Whether a name in UTF-8 is that of a variable of SPARQL.

    >>> is_variable(b"x1"), is_variable(b"a.b")
    (True, False)
    """
    cdef const uint8_t* at = <const uint8_t*><const char*>name
    return len(name) > 0 and find_variable_end(at, at + len(name)) == at + len(name)
