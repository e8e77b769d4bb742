"""Who may join the viewer's socket: pages that it served itself, and nobody who writes junk.

A browser names the page that opens a socket in `Origin`, and the address that it asked for in
`Host`. Pages of other sites may open sockets to localhost too, and a name of theirs may
come to point to this machine. Hence both must agree, and the host must be one of ours.
"""

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import websockets.asyncio.server
from viser import __version__ as viser_version

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

LOOPBACK = "127.0.0.1"
_LOCAL = {"localhost", LOOPBACK, "::1"}
_CLOSING = 0.3  #: seconds in which a browser may say goodbye
_OPENING = 2.0  #: seconds in which it has to say what it wants
_PROTOCOL = f"viser-v{viser_version}"
_QUIET = logging.getLogger("triskele.viewer.socket")
_QUIET.propagate = False
_QUIET.addHandler(logging.NullHandler())


def is_local(host: str) -> bool:
    """Whether only this machine reaches a server at `host`."""
    if host in _LOCAL:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refusal(headers: dict[str, str], host: str) -> str | None:
    """Why a socket with these headers, in small letters, may not be opened; None if it may."""
    if _PROTOCOL not in [
        part.strip() for part in headers.get("sec-websocket-protocol", "").split(",")
    ]:
        return "This socket is for the viewer's own page."
    asked, origin = headers.get("host", ""), headers.get("origin")
    if not _ours(urlsplit(f"//{asked}").hostname or "", host):
        return f"No viewer is served as {asked[:80]}."
    if origin is not None and urlsplit(origin).netloc != asked:
        return f"A page from {origin[:80]} may not join."
    return None


def _ours(name: str, host: str) -> bool:
    """Whether a page served at `host` may be asked for by `name`."""
    if name == host or (is_local(host) and name in _LOCAL):
        return True
    if is_local(host):
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name.lower() in {socket.gethostname().lower(), socket.getfqdn().lower(), *_LOCAL}
    return True


@contextmanager
def guarded(host: str) -> Iterator[None]:
    """Servers that are started within refuse strangers, log nothing and close quickly."""
    serve = websockets.asyncio.server.serve

    def guarded_serve(*arguments: Any, process_request: Callable, **options: Any) -> Any:  # noqa: ANN401
        def checked(connection: "ServerConnection", request: "Request") -> "Response | None":
            headers = {name.lower(): value for name, value in request.headers.raw_items()}
            if headers.get("upgrade", "").lower() == "websocket":
                why = refusal(headers, host)
                return None if why is None else connection.respond(HTTPStatus.FORBIDDEN, why + "\n")
            return process_request(connection, request)

        asyncio.get_running_loop().set_exception_handler(_dropped)
        options |= {"logger": _QUIET, "close_timeout": _CLOSING, "open_timeout": _OPENING}
        return serve(*arguments, process_request=checked, **options)

    websockets.asyncio.server.serve = guarded_serve
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve


def _dropped(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What fails in the loop is a message that a browser of ours would not send."""
    _QUIET.debug("%s", context.get("message"))
