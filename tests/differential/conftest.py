"""The generated protobuf classes, made from our own proto/ when the tests run."""

from pathlib import Path

import pytest

PROTO = Path(__file__).resolve().parent.parent.parent / "proto"


@pytest.fixture(scope="session")
def pb(tmp_path_factory):
    """The messages of rdf.proto and patch.proto by name. Their pool is their own, as pyjelly uses the default one."""
    pytest.importorskip("google.protobuf")
    protoc = pytest.importorskip("grpc_tools.protoc")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    if not PROTO.is_dir():
        pytest.skip("proto/ is not there")
    path = tmp_path_factory.mktemp("proto") / "rdf.pb"
    files = [str(PROTO / name) for name in ("rdf.proto", "patch.proto")]
    assert protoc.main(["protoc", f"-I{PROTO}", f"--descriptor_set_out={path}", *files]) == 0
    pool = descriptor_pool.DescriptorPool()
    namespace = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file:
        pool.AddSerializedFile(file.SerializeToString())
        messages = pool.FindFileByName(file.name).message_types_by_name
        namespace |= {name: message_factory.GetMessageClass(message) for name, message in messages.items()}
    return type("pb", (), namespace)
