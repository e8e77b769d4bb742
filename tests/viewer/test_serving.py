"""Who may join the viewer's socket, and what it makes of junk."""

import contextlib
import io
import socket
import time

import pytest
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from triskele.viewer.serving import guarded, is_local, refusal

PROTOCOL = f"viser-v{viser.__version__}"
OWN = {"host": "localhost:8080", "sec-websocket-protocol": PROTOCOL}


@pytest.mark.parametrize(
    ("host", "more", "allowed"),
    [
        ("127.0.0.1", {}, True),  # no browser
        ("127.0.0.1", {"origin": "http://localhost:8080"}, True),
        ("127.0.0.1", {"origin": "https://evil.example"}, False),
        ("127.0.0.1", {"origin": "http://localhost:3000"}, False),  # another program's page
        ("127.0.0.1", {"origin": "null"}, False),  # a file, or a frame in a sandbox
        ("127.0.0.1", {"host": "evil.example:8080", "origin": "http://evil.example:8080"}, False),
        ("127.0.0.1", {"host": "[::1]:8080", "origin": "http://[::1]:8080"}, True),
        ("127.0.0.1", {"host": "192.168.1.5:8080", "origin": "http://192.168.1.5:8080"}, False),
        ("127.0.0.1", {"sec-websocket-protocol": "viser-v0.0.1"}, False),
        ("0.0.0.0", {"host": "192.168.1.5:8080", "origin": "http://192.168.1.5:8080"}, True),
        ("0.0.0.0", {"host": "evil.example:8080", "origin": "http://evil.example:8080"}, False),
        ("0.0.0.0", {"host": "192.168.1.5:8080", "origin": "http://evil.example"}, False),
        ("cell7.example", {"host": "cell7.example", "origin": "http://cell7.example"}, True),
    ],
)
def test_a_page_joins_the_server_that_it_came_from(host, more, allowed):
    assert (refusal({**OWN, **more}, host) is None) == allowed


def test_which_hosts_only_this_machine_reaches():
    assert all(map(is_local, ("127.0.0.1", "127.8.0.1", "localhost", "::1")))
    assert not any(map(is_local, ("0.0.0.0", "192.168.1.5", "::", "cell7.example")))


@pytest.fixture
def port():
    """That of a server without a robot, which nobody furnished."""
    with guarded("127.0.0.1"), contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=8377, verbose=False)
    yield server.get_port()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 3  # with connections of all kinds left open


def test_junk_is_quiet_and_strangers_are_refused(port, capfd):
    kept = socket.create_connection(("127.0.0.1", port))  # says nothing, and waits
    for junk in (b"\x00\x01junk\r\n\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(junk)
            raw.settimeout(5)
            assert raw.recv(100) == b""

    def joined(**options):
        return connect(f"ws://127.0.0.1:{port}", subprotocols=[PROTOCOL], max_size=None, **options)

    pair, fields = b"\x92\x01\x02", b"\x81\xa4type\xb3ViewerCameraMessage"  # in MessagePack
    for junk in (b"\xff\x00junk", "hello", pair, fields):
        with joined() as page, pytest.raises(ConnectionClosed):
            page.send(junk)
            while True:
                page.recv(timeout=5)
    with pytest.raises(InvalidStatus, match="403"):
        joined(origin="http://evil.example")
    with joined(origin=f"http://127.0.0.1:{port}") as page:
        assert page.recv(timeout=5)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    kept.close()
