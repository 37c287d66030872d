"""Detects files joined with `cat`: whether another stream begins where the options row is repeated."""

from libc.string cimport memset

from jelly._core.base cimport schema as pb
from jelly._core.base.constants cimport MAX_DEPTH
from jelly._core.base.protobuf cimport skip_field, take_varint
from jelly._core.jelly.frame_reader cimport FRAME_ROW, take_field, take_part
from jelly._core.jelly.lookup cimport Table


cdef void begin_look(
    Restart* k, const int64_t* entries, const int64_t* tops, const int64_t* sizes, int64_t name, int64_t prefix, bint patch,
    int arity,
) noexcept nogil:
    """Begin behind an options row that is not the first. Of the three tables `entries` are the last entries, `tops` those
    with the highest ids, `sizes` what they may have."""
    cdef int table
    memset(k.n_new, 0, sizeof(k.n_new))
    memset(&k.on, 0, sizeof(Ids))
    memset(&k.anew, 0, sizeof(Ids))
    k.has_statement = False
    k.n_statements = 0
    k.looking = True
    k.patch = patch
    k.arity = arity
    for table in range(TABLES):
        k.on.entry[table] = entries[table]
        k.on.top[table] = tops[table]
        k.size[table] = sizes[table]
    k.on.name = name
    k.on.prefix = prefix
    k.on.fits = k.anew.fits = True


cdef void use(Restart* k, Ids* ids, int table, int64_t id) noexcept nogil:
    cdef int i
    for i in range(k.n_new[table]):
        if ids.fresh[table][i] == id:
            ids.used[table] |= <uint64_t>1 << i


cdef void use_iri(Restart* k, Ids* ids, int64_t prefix, int64_t name) noexcept nogil:
    """Note what an IRI uses; an id of 0 is told by what is before it."""
    if name == 0:
        name = UNKNOWN if ids.name == UNKNOWN else ids.name + 1
    if prefix == 0:
        prefix = ids.prefix
    ids.name = name
    ids.prefix = prefix
    if name > ids.top[NAMES] or prefix > ids.top[PREFIXES]:
        ids.fits = False
    if name == UNKNOWN:
        ids.used[NAMES] = ~<uint64_t>0  # it may be any
    else:
        use(k, ids, NAMES, name)
    if prefix == UNKNOWN:
        ids.used[PREFIXES] = ~<uint64_t>0
    else:
        use(k, ids, PREFIXES, prefix)


cdef int look_iri(Restart* k, Reader* r) noexcept nogil:
    cdef int64_t tag
    cdef int64_t prefix = 0
    cdef int64_t name = 0
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_IRI_NAME_ID_TAG:
            name = take_varint(r)
        elif tag == pb.RDF_IRI_PREFIX_ID_TAG:
            prefix = take_varint(r)
        elif tag < 0 or skip_field(r, tag) < 0:
            return -1
    if name < 0 or prefix < 0:
        return -1
    use_iri(k, &k.on, prefix, name)
    use_iri(k, &k.anew, prefix, name)
    return 0


cdef void use_datatype(Restart* k, Ids* ids, int64_t id) noexcept nogil:
    if id > ids.top[DATATYPES]:
        ids.fits = False
    use(k, ids, DATATYPES, id)


cdef int look_literal(Restart* k, Reader* r) noexcept nogil:
    cdef int64_t tag, id
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_LITERAL_DATATYPE_TAG:
            id = take_varint(r)
            if id < 0:
                return -1
            use_datatype(k, &k.on, id)
            use_datatype(k, &k.anew, id)
        elif tag < 0 or skip_field(r, tag) < 0:
            return -1
    return 0


cdef int look_terms(Restart* k, Reader* r, int arity, int depth, int* slots) noexcept nogil:
    """The terms of a statement or quoted triple; `slots` gets a bit for each position that is set."""
    cdef Reader term
    cdef int field, slot, kind, inner
    if depth > MAX_DEPTH:
        return -1
    while r.at < r.end:
        field = take_field(r, (2 << 4 * arity) - 2, &term)
        if field <= 0:
            if field < 0:
                return -1
            continue
        slot = (field - 1) >> 2
        kind = (field - 1) & 3
        slots[0] |= 1 << slot
        if kind == 0:
            if look_iri(k, &term) < 0:
                return -1
        elif kind == (3 if slot == 3 else 2):
            if look_literal(k, &term) < 0:
                return -1
        elif kind == 3:
            inner = 0
            if look_terms(k, &term, 3, depth + 1, &inner) < 0:
                return -1
    return 0


cdef int look_field(Restart* k, Reader* r, int iri, int graph, int literal) noexcept nogil:
    """The terms of a row that is no statement: fields `iri` and `graph` are IRIs, `literal` is a literal; 0: none."""
    cdef Reader term
    cdef int field
    while r.at < r.end:
        field = take_field(r, (1 << iri | 1 << graph | 1 << literal) & ~1, &term)
        if field < 0:
            return -1
        if field > 0 and (look_literal(k, &term) if field == literal else look_iri(k, &term)) < 0:
            return -1
    return 0


cdef int look_entry(Restart* k, Reader* r, int table) noexcept nogil:
    cdef int64_t tag
    cdef int64_t id = 0
    cdef int n = k.n_new[table]
    while r.at < r.end:
        tag = take_varint(r)
        if tag == pb.RDF_NAME_ENTRY_ID_TAG:
            id = take_varint(r)
            if id < 0:
                return -1
        elif tag < 0 or skip_field(r, tag) < 0:
            return -1
    if id > k.anew.top[table] + 1:
        k.anew.fits = False  # a table is filled from the start
    define(k, &k.on, table, id, n)
    define(k, &k.anew, table, id, n)
    if n < MAX_NEW:
        k.n_new[table] = n + 1
    return 0


cdef void define(Restart* k, Ids* ids, int table, int64_t id, int n) noexcept nogil:
    ids.entry[table] = id if id else ids.entry[table] + 1
    if ids.entry[table] > ids.top[table]:
        ids.top[table] = ids.entry[table]
    if ids.top[table] > k.size[table]:
        ids.fits = False
    if n < MAX_NEW:
        ids.fresh[table][n] = ids.entry[table]


cdef int count_used(Restart* k, Ids* ids) noexcept nogil:
    cdef int n = 0
    cdef int table, i
    for table in range(TABLES):
        for i in range(k.n_new[table]):
            n += <int>(ids.used[table] >> i & 1)
    return n


cdef bint is_same(Restart* k) noexcept nogil:
    """Whether both ways of reading give the same from here on."""
    cdef int table
    for table in range(TABLES):
        if k.on.entry[table] != k.anew.entry[table]:
            return False
    return k.on.name == k.anew.name and k.on.prefix == k.anew.prefix


cdef bint judge(Restart* k) noexcept nogil:
    """Behind a row that uses entries: True where another stream has begun. It may end the looking."""
    cdef int table
    cdef int on = count_used(k, &k.on) if k.on.fits else -1
    cdef int anew = count_used(k, &k.anew)
    k.n_statements += 1
    if not k.anew.fits or on != anew or is_same(k) or k.n_statements >= MAX_STATEMENTS:
        k.looking = False
        return k.anew.fits and anew > on
    for table in range(TABLES):
        k.n_new[table] = 0
        k.on.used[table] = k.anew.used[table] = 0
    return False


cdef int look_row(Restart* k, Reader* r, bint* found) noexcept nogil:
    cdef int field
    cdef int slots = 0
    cdef int entry = pb.RDF_PATCH_ROW_NAME if k.patch else pb.RDF_STREAM_ROW_NAME
    cdef int arity = k.arity
    cdef Reader body
    cdef int status = 0
    while r.at < r.end:
        field = take_field(r, (2 << pb.RDF_PATCH_ROW_PUNCTUATION) - 2, &body)
        if field <= 0:
            if field < 0:
                return -1
            continue
        if field == pb.RDF_STREAM_ROW_OPTIONS:
            k.looking = False  # whoever reads this row begins anew
            return 0
        if entry <= field <= entry + DATATYPES:
            status = look_entry(k, &body, field - entry)
            continue
        if not k.patch and field == pb.RDF_STREAM_ROW_GRAPH_START:
            status = look_field(k, &body, pb.RDF_GRAPH_START_G_IRI, 0, pb.RDF_GRAPH_START_G_LITERAL)
        elif not k.patch and field == pb.RDF_STREAM_ROW_NAMESPACE:
            status = look_field(k, &body, pb.RDF_NAMESPACE_DECLARATION_VALUE, 0, 0)
        elif k.patch and (field == pb.RDF_PATCH_ROW_NAMESPACE_ADD or field == pb.RDF_PATCH_ROW_NAMESPACE_DELETE):
            status = look_field(
                k, &body, pb.RDF_PATCH_NAMESPACE_VALUE, pb.RDF_PATCH_NAMESPACE_G_IRI, pb.RDF_PATCH_NAMESPACE_G_LITERAL
            )
        elif k.patch and field == pb.RDF_PATCH_ROW_HEADER:
            status = look_field(k, &body, pb.RDF_PATCH_HEADER_H_IRI, 0, pb.RDF_PATCH_HEADER_H_LITERAL)
        elif field == pb.RDF_STREAM_ROW_TRIPLE or field == pb.RDF_STREAM_ROW_QUAD:
            # In a patch these fields are additions and deletions.
            if not k.patch:
                arity = 3 if field == pb.RDF_STREAM_ROW_TRIPLE else 4
            status = look_terms(k, &body, arity, 0, &slots)
            if not k.has_statement and slots != (1 << arity) - 1:
                k.looking = False  # the first statement of a stream leaves nothing out
                return 0
            k.has_statement = True
        else:
            continue
        if status == 0 and judge(k):
            found[0] = True
        if not k.looking:
            return 0
    return status


cdef void look_behind(
    Restart* k, Lookup* t, Reader rows, bint patch, int64_t frame, int64_t row, int64_t offset
) noexcept nogil:
    """Look behind an options row at what is left of its frame; the tables are those of the stream up to here."""
    cdef int64_t entries[TABLES]
    cdef int64_t tops[TABLES]
    cdef int64_t sizes[TABLES]
    cdef Table* tables[TABLES]
    cdef int i
    tables[NAMES] = &t.names
    tables[PREFIXES] = &t.prefixes
    tables[DATATYPES] = &t.datatypes
    for i in range(TABLES):
        entries[i] = tables[i].last
        tops[i] = tables[i].made
        sizes[i] = tables[i].size
    begin_look(k, entries, tops, sizes, t.last_name, t.last_prefix, patch, k.arity)
    look_on(k, rows, frame, row, offset)


cdef void look_on(Restart* k, Reader rows, int64_t frame, int64_t row, int64_t offset) noexcept nogil:
    """Look at the rows of a frame, or at what is left of one, which stands there; note where another stream has begun.

    Looking ends, or goes on with the next frame while `looking` is set. Malformed input ends it: a reader will say so.
    """
    cdef Reader body
    cdef int field
    cdef bint found = False
    while k.looking and rows.at < rows.end:
        field = take_part(&rows, &body)
        if field < 0 or (field == FRAME_ROW and look_row(k, &body, &found) < 0):
            k.looking = False
    if not found:
        return
    k.found += 1
    if k.found == 1:
        k.frame = frame
        k.row = row
        k.offset = offset
