"""Options against options; topics, their segments and keyframes, in memory and in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import KINDS, make_topic, messages, numbers, options, plain, statement
from support import craft, measure
from support.chance import examples

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
import jelly.grpc._topic_files
from jelly import Frame, StreamOptions
from jelly._streams.frames import frame_of
from jelly.grpc._protocol import accept_options, pack_subscribe, serve_options, unpack_info, unpack_subscribe
from jelly.grpc._topic import Missed

OWN = StreamOptions(physical_type=2, logical_type=14, version=1, max_name_table_size=100, max_prefix_table_size=10,
                    max_datatype_table_size=10)  # fmt: skip
FULL = OWN.replace(generalized_statements=True, rdf_star=True, version=2)

# Own options, requested ones; the sizes of the three tables that are served, or why not.
SERVED = [
    (OWN, OWN, (100, 10, 10)),
    (OWN, OWN.replace(stream_name="any"), (100, 10, 10)),
    (OWN, OWN.replace(max_name_table_size=8), (8, 10, 10)),
    (OWN, OWN.replace(max_prefix_table_size=0), (100, 0, 10)),
    (OWN, OWN.replace(max_datatype_table_size=0), (100, 10, 0)),
    (OWN, OWN.replace(max_name_table_size=99, max_prefix_table_size=9, max_datatype_table_size=9), (99, 9, 9)),
    (OWN, OWN.replace(max_name_table_size=4000, max_prefix_table_size=400, max_datatype_table_size=40), (100, 10, 10)),
    (OWN, OWN.replace(physical_type=3), "physical type GRAPHS was asked for, this is QUADS"),
    (OWN, OWN.replace(physical_type=1, logical_type=0), "physical type TRIPLES"),
    (OWN.replace(physical_type=3), OWN, "physical type QUADS was asked for, this is GRAPHS"),
    (OWN, OWN.replace(logical_type=0), (100, 10, 10)),
    (OWN, OWN.replace(logical_type=4), (100, 10, 10)),
    (OWN, OWN.replace(logical_type=114), "logical type TIMESTAMPED_NAMED_GRAPHS was asked for, this is NAMED_GRAPHS"),
    (OWN, OWN.replace(logical_type=2), "logical type FLAT_QUADS"),
    (OWN.replace(logical_type=2), OWN.replace(logical_type=4), "logical type DATASETS"),
    (OWN, OWN.replace(generalized_statements=True), (100, 10, 10)),
    (OWN.replace(generalized_statements=True), OWN, (100, 10, 10)),
    (OWN.replace(generalized_statements=True), OWN.replace(generalized_statements=True), (100, 10, 10)),
    (OWN, OWN.replace(rdf_star=True), (100, 10, 10)),
    (OWN.replace(rdf_star=True), OWN, (100, 10, 10)),
    (OWN.replace(rdf_star=True), OWN.replace(rdf_star=True), (100, 10, 10)),
    (OWN, OWN.replace(version=2), (100, 10, 10)),
    (OWN.replace(version=2), OWN, "version 1 was asked for, this is 2"),
    (OWN.replace(version=2), OWN.replace(version=2), (100, 10, 10)),
    (OWN, FULL, (100, 10, 10)),
    (FULL, OWN.replace(logical_type=2), "logical type FLAT_QUADS was asked for, .*; version 1 was asked for"),
    (FULL, StreamOptions(max_name_table_size=50), (50, 10, 10)),
    (OWN.replace(stream_name="a"), OWN.replace(stream_name="b"), "stream name 'b' was asked for, this is 'a'"),
    (OWN.replace(stream_name="a"), OWN.replace(stream_name="a"), (100, 10, 10)),
    (FULL, None, (100, 10, 10)),
]

# Options of a topic, of a publisher; why it is refused.
OFFERED = [
    (OWN, OWN, None),
    (OWN, OWN.replace(stream_name="any"), None),
    (OWN, OWN.replace(max_name_table_size=4000, max_prefix_table_size=400, max_datatype_table_size=200), None),
    (OWN, OWN.replace(max_name_table_size=8, max_prefix_table_size=0, max_datatype_table_size=0), None),
    (OWN, OWN.replace(physical_type=3), "physical type GRAPHS was offered, the topic is of QUADS"),
    (OWN, OWN.replace(logical_type=4), "logical type DATASETS was offered, the topic is of NAMED_GRAPHS"),
    # What a publisher may have, its statements show.
    (OWN, OWN.replace(generalized_statements=True), None),
    (OWN.replace(generalized_statements=True), OWN, None),
    (OWN, OWN.replace(rdf_star=True), None),
    (OWN.replace(rdf_star=True), OWN, None),
    (OWN, OWN.replace(version=2), None),
    (OWN.replace(version=2), OWN, None),
    (OWN, FULL, None),
    # Triples are quads in the default graph.
    (OWN.replace(logical_type=2), OWN.replace(physical_type=1, logical_type=1), None),
    (OWN.replace(logical_type=0, physical_type=3), OWN.replace(physical_type=1, logical_type=0), None),
    (OWN, OWN.replace(physical_type=1, logical_type=1), "type TRIPLES was offered, .*; logical type FLAT_TRIPLES"),
    (FULL, OWN, None),
]


@pytest.mark.parametrize(("own", "requested", "expected"), SERVED)
def test_what_is_served_to_whom(own, requested, expected):
    if isinstance(expected, str):
        with pytest.raises(jelly.JellyOptionsError, match=expected):
            serve_options(own, requested)
        return
    names, prefixes, datatypes = expected
    sizes = {"max_name_table_size": names, "max_prefix_table_size": prefixes, "max_datatype_table_size": datatypes}
    served = serve_options(own, requested)
    flags = {flag: getattr(served, flag) for flag in ("generalized_statements", "rdf_star")}
    name = own.stream_name or (requested.stream_name if requested is not None else "")
    assert served == own.replace(**sizes, **flags, stream_name=name)
    for flag, value in flags.items():
        assert value == (getattr(own, flag) and (requested is None or getattr(requested, flag)))
    assert serve_options(served, requested) == served


@pytest.mark.parametrize(("own", "offered", "expected"), OFFERED)
def test_what_is_accepted_from_whom(own, offered, expected):
    if expected is None:
        accept_options(own, offered)
    else:
        with pytest.raises(jelly.JellyOptionsError, match=expected):
            accept_options(own, offered)


@given(st.binary(max_size=60))
def test_a_subscription_is_read_or_refused(data):
    for one in (data, b"\x12" + bytes([len(data)]) + data, pack_subscribe("t", OWN)[: len(data)] + data):
        try:
            topic, _ = unpack_subscribe(one)
        except jelly.JellyError:
            continue
        assert isinstance(topic, str)


# ---- topics


@pytest.fixture
def small_segments(monkeypatch):
    monkeypatch.setattr(jelly.grpc._topic, "SEGMENT_MESSAGES", 7)


def filled(kind, given, name="t", path=None, **settings):
    topic = make_topic(name, path, **settings)
    topic.fill(given, options(kind))
    return topic


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stored", [False, True])
def test_each_start_gives_the_same(kind, stored, small_segments, serve, tmp_path):
    """Whoever starts at a message, in the middle of a segment too, gets what one from the beginning gets."""
    given = messages(kind, 40)
    topics = jg.Topics(tmp_path if stored else None)
    server = serve(topics)
    asked = options(kind, max_name_table_size=8, max_prefix_table_size=2, max_datatype_table_size=6)
    with topics, jg.Client(server.address) as client:
        client.publish(given, topic="t", options=options(kind))
        for start in range(41):
            assert plain(client.subscribe("t", start=start, follow=False)) == plain(given[start:])
        for start in (0, 3, 7, 40):
            feed = client.subscribe("t", start=start, follow=False, options=asked)
            assert plain(feed) == plain(given[start:])
        server.close()


@examples(30)
@given(
    st.sampled_from(sorted(KINDS)),
    st.lists(st.lists(st.integers(0, 30), max_size=6), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from([8, 16, 4000]),
)
def test_every_segment_stands_alone(kind, lots, messages_each, names):
    jelly.grpc._topic.SEGMENT_MESSAGES, before = messages_each, jelly.grpc._topic.SEGMENT_MESSAGES
    try:
        given = [Frame(i, [statement(kind, j) for j in lot]) for i, lot in enumerate(lots)]
        topic = jelly.grpc._topic.Topic("t", None)
        topic.fill(given, options(kind, max_name_table_size=names, max_prefix_table_size=3))
    finally:
        jelly.grpc._topic.SEGMENT_MESSAGES = before
    through, number = jg.FrameDecoder(), 0
    while number < topic.end:
        start, frames = topic.read(number)
        assert start == number
        alone = jg.FrameDecoder()
        got = plain(frame_of(alone.decode(frame), 0) for frame in frames)
        assert got == plain(frame_of(through.decode(frame), 0) for frame in frames)
        assert got == plain(given[number : number + len(frames)])
        number += len(frames)
    assert number == len(given)


def test_a_topic_keeps_what_it_is_told_to(small_segments):
    topic = filled("quads", messages("quads", 100), keep=20)
    assert topic.end == 100
    assert 73 <= topic.first <= 80
    assert topic.first % 7 == 0
    with pytest.raises(Missed, match="gone"):
        topic.read(3)
    with pytest.raises(Missed, match="up to 99, 101 was asked for"):
        topic.read(101)
    assert topic.read(100) == (100, [])
    few_bytes = filled("quads", messages("quads", 100), keep_bytes=3000)
    assert few_bytes.first > 70


def test_a_message_that_cannot_be_written_is_not_there(small_segments, tmp_path):
    """The one after it starts anew, so nobody misses what the encoder had in its tables."""
    path = tmp_path / "t.jelly"
    given = messages("quads", 5)
    topic = filled("quads", given[:3], path=path)
    star = jg.FrameDecoder()
    quoted = b"<< <a:1> <a:2> <a:3> >> <a:new> <a:o> ."
    encoder = jg.FrameEncoder(StreamOptions(physical_type=2, rdf_star=True))
    (frame,) = encoder.encode_many(jelly.read(quoted, format="nq"))
    with pytest.raises(jelly.JellyOptionsError):
        topic.append(star.decode(frame))
    with pytest.raises(ValueError, match="a message is a Batch"):
        topic.append(next(jelly.scan(b"<a:s> <a:p> <a:o> <a:g> .", format="nq").batches()))
    topic.fill(given[3:], options("quads"))
    topic.close()
    assert plain(jelly.scan(path).frames()) == plain(given)
    assert plain(read_whole(path)) == plain(given)


def read_whole(path):
    """The messages of a topic's file after a restart."""
    topic = jelly.grpc._topic_files.FileTopic("t", path)
    decoder, number, found = jg.FrameDecoder(), 0, []
    while number < topic.end:
        _, frames = topic.read(number)
        found += [frame_of(decoder.decode(frame), 0) for frame in frames]
        number += len(frames)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_is_there_again(kind, small_segments, tmp_path):
    given = messages(kind, 30)
    for start, stop in ((0, 11), (11, 12), (12, 30)):
        with jg.Topics(tmp_path) as topics:
            topic = topics.get("a/b ü", create=True)
            assert topic.end == start
            topic.fill(given[start:stop], options(kind))
            assert topic.statements == sum(map(len, given[:stop]))
    (path,) = tmp_path.glob("*.jelly")
    assert path.name == "a%2Fb%20%C3%BC.jelly"
    assert plain(jelly.scan(path).frames()) == plain(given)


def test_files_of_topics_on_any_file_system(tmp_path):
    """Windows and macOS take A and a for one file; on Windows con.jelly is a device."""
    names = ["A", "a", "con", "NUL.x", "B", "B@1", "aux2"]
    with jg.Topics(tmp_path) as topics:
        for number, name in enumerate(names):
            topics.get(name, create=True).fill(messages("quads", number + 1), options("quads"))
    files = sorted(path.name for path in tmp_path.glob("*.jelly"))
    assert files == ["%4E%55%4C%2E%78.jelly", "%61.jelly", "%63%6F%6E.jelly", "A.jelly", "B%401.jelly", "B.jelly",
                     "aux2.jelly"]  # fmt: skip
    with jg.Topics(tmp_path) as topics:
        assert [topics.get(name).end for name in names] == [1, 2, 3, 4, 5, 6, 7]
        topics.get("b", create=True).fill(messages("quads", 1), options("quads"))
        assert (tmp_path / "%62.jelly").exists()
        topics.delete("A")
        topics.delete("a")
        topics.get("a", create=True).fill(messages("quads", 1), options("quads"))
        assert (tmp_path / "a.jelly").exists()


@pytest.mark.interop
def test_pyjelly_reads_the_store(small_segments, tmp_path):
    pytest.importorskip("pyjelly")
    code = (
        "import sys\nfrom pyjelly.integrations.generic.parse import parse_jelly_flat\n"
        "for path in sys.argv[1:]: print(sum(1 for _ in parse_jelly_flat(open(path, 'rb'))))"
    )
    given = {kind: [Frame(i, f.statements) for i, f in enumerate(messages(kind, 30))] for kind in KINDS}
    for kind in KINDS:
        filled(kind, given[kind], path=tmp_path / kind).close()
    done = measure.run("-W", "ignore", "-c", code, *(str(tmp_path / kind) for kind in KINDS))
    assert done.stdout.split() == [str(sum(map(len, given[kind]))) for kind in KINDS], done.stderr


def test_a_torn_tail_is_cut_off_and_kept(small_segments, tmp_path):
    path = tmp_path / "t.jelly"
    given = messages("quads", 12)
    filled("quads", given[:10], path=path).close()
    whole = path.read_bytes()
    filled("quads", given[10:], path=path).close()
    torn = path.read_bytes()[len(whole) :]
    cuts = [*range(len(whole) + 1, len(whole) + len(torn), 9), len(whole) + len(torn) - 1]
    for cut in cuts:
        path.write_bytes((whole + torn)[:cut])
        topic = jelly.grpc._topic_files.FileTopic("t", path)
        kept = path.read_bytes()
        assert topic.end in (10, 11)
        assert kept + (tmp_path / "t.torn").read_bytes() == (whole + torn)[:cut]
        topic.fill(given[topic.end :], options("quads"))
        topic.close()
        assert plain(jelly.scan(path).frames()) == plain(given)
    # What some file systems leave after a crash of the machine.
    path.write_bytes(whole + bytes(5000))
    assert jelly.grpc._topic_files.FileTopic("t", path).end == 10


def test_what_is_no_log_of_the_topic_is_refused(small_segments, tmp_path):
    path = tmp_path / "t.jelly"
    filled("quads", messages("quads", 20), path=path).close()
    good = path.read_bytes()
    damaged = bytearray(good)
    at = good.index(b"http://example.org/graph/", len(good) // 2)
    damaged[at - 1] ^= 0x40  # the length of a text
    for data in (
        bytes(damaged),
        b"\xff" * 30,
        b"\x05hello",
        craft.frame(craft.options(2), craft.quad()),
        craft.frame(craft.quad()),
    ):
        path.write_bytes(data)
        with pytest.raises(jelly.JellyError, match="t.jelly"):
            jg.Topics(tmp_path)
        assert path.read_bytes() == data  # nothing was cut


def test_one_broker_a_store_and_a_limit_of_topics(tmp_path):
    with jg.Topics(tmp_path, max_topics=2) as topics:
        with pytest.raises(jelly.JellyError, match="another broker uses this store"):
            jg.Topics(tmp_path)
        assert topics.get("a") is None
        topics.get("a", create=True)
        topics.get("b", create=True)
        with pytest.raises(jelly.JellyLimitError, match="2 topics"):
            topics.get("c", create=True)
    with jg.Topics(tmp_path) as topics:
        assert topics.names() == []  # nothing was published
        for name in ("", ".", "..", ".hidden", "x" * 300):
            with pytest.raises(jelly.JellyOptionsError, match="cannot be the name"):
                topics.get(name, create=True)


def test_the_first_publisher_decides_and_none_blocks_a_topic(serve):
    """Options without statements bind nobody; who comes with other ones after the first message is refused."""
    server = serve()
    with jg.Client(server.address) as client:
        client.publish([b"", *jg.FrameEncoder(options("triples")).encode_many([])], topic="t")
        assert server.handler.topics.get("t").end == 0
        client.publish(messages("dataset messages", 3), topic="t", options=options("dataset messages"))
        with pytest.raises(jelly.JellyServiceError, match=r"INVALID_ARGUMENT.*physical type TRIPLES was offered"):
            client.publish(messages("triples", 3), topic="t", options=options("triples"))
        # The options may allow more than the topic has, the statements may not.
        star = options("dataset messages", rdf_star=True)
        client.publish(messages("dataset messages", 3, start=3), topic="t", options=star)
        term = jelly.QuotedTriple(*[jelly.IRI("a:s")] * 3)
        quoted = [jelly.Frame(0, [jelly.Quad(term, jelly.IRI("a:p"), term, jelly.DefaultGraph())])]
        with pytest.raises(jelly.JellyServiceError, match=r"INVALID_ARGUMENT.*quoted triple as subject"):
            client.publish(quoted, topic="t", options=star)
        assert numbers(client.subscribe("t", follow=False)) == [0, 1, 2, 3, 4, 5]


def test_files_in_any_order(serve, tmp_path):
    """A topic can always have namespaces, whatever its first publication had; who knows version 1 only gets none."""
    server = serve()
    plain = [jelly.Triple(*[jelly.IRI("http://e/s")] * 3)]
    with jg.Client(server.address) as client:
        client.publish(plain, topic="t")
        frame = jelly.Frame(0, plain, None, [("e", "http://e/")])
        client.publish([frame], topic="t", options=jelly.StreamOptions(physical_type=1, logical_type=1, version=2))
        found = list(client.subscribe("t", follow=False))
        assert [f.namespaces for f in found] == [[], [("e", "http://e/")]]
        wanted = jelly.StreamOptions(physical_type=1, rdf_star=True, version=1)
        feed = client.subscribe("t", follow=False, options=wanted)
        found = list(feed)
        assert feed.options.version == 1
        assert [(f.namespaces, f.statements) for f in found] == [([], plain)] * 2
        client.publish([jelly.Quad(*plain[0], jelly.IRI("a:g"))], topic="q")
        client.publish(plain, topic="q")
        assert [len(f) for f in client.subscribe("q", follow=False)] == [1, 1]


def test_a_store_that_is_full(tmp_path):
    """Part of a message is written before the disk, or here the limit of a file, is reached: nothing of it stays."""
    resource = pytest.importorskip("resource")
    from jelly.grpc._context import status_of

    path = tmp_path / "t.jelly"
    topic = jelly.grpc._topic_files.FileTopic("t", path)
    topic.options = jelly.StreamOptions(physical_type=1, stream_name="t")
    small, large = (
        next(jelly.scan(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("x" * n))])).batches())
        for n in (10, 20_000)
    )
    topic.append(small)
    size = path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as error:
            topic.append(large)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    code, text = status_of(error.value)
    assert (code.name, text) == ("RESOURCE_EXHAUSTED", "the store is full")
    assert path.stat().st_size == size
    assert (topic.end, len(topic.read(0)[1])) == (1, 1)
    topic.append(large)
    topic.close()
    with jg.Topics(tmp_path) as topics:
        assert topics.get("t").end == 2


# A name that is not UTF-8, a time that is no time.
@pytest.mark.parametrize("body", [b"\x0a\x02\xff\xfe", b"\x58" + b"\xff" * 8 + b"\x7f"])
def test_a_topic_that_no_broker_describes(body: bytes) -> None:
    with pytest.raises(jelly.JellyFormatError):
        unpack_info(body)
