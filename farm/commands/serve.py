"""`farm serve`: a small web server for runs and campaigns, on this machine alone, which writes nothing."""

from __future__ import annotations

import argparse
import errno
import sys
import traceback
import webbrowser
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from threading import Thread
from typing import Any

from farm.commands.served_pages import ServedFolder, error_page
from farm.errors import DataError, ExperimentError, FarmError, one_line
from farm.report.page.document import content_policy

HOST = "127.0.0.1"
NAMES = ("localhost", HOST, "[::1]")
"""What a browser may call this machine. Any other name is a website's, which it made lead here."""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TOLD = {
    HTTPStatus.FORBIDDEN: "This server answers to localhost alone.",
    HTTPStatus.NOT_FOUND: "There is no run or campaign here, or links in it lead out of the folder.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This server only shows what is there (GET and HEAD).",
}


def serve(options: argparse.Namespace) -> int:
    """Serve a folder until Ctrl-C."""
    folder = Path(options.folder)
    if not folder.is_dir():
        raise DataError(
            f"{folder} is no folder; expected one with runs: name it, or begin with `farm run quickstart`"
        )
    with suppress(KeyboardInterrupt), page_server(folder, options.port, debug=options.debug) as server:
        url = f"http://{HOST}:{server.server_port}/"
        print(f"farm: {folder} is shown at {url} until Ctrl-C", flush=True)
        if options.open:  # some browsers come back only when they are closed
            Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        server.serve_forever()
    return 0


def page_server(folder: Path, port: int, *, debug: bool = False) -> PageServer:
    """Return a server that listens, and serves as soon as it is told to."""
    if not 0 <= port < 2**16:
        raise ExperimentError(f"--port {port}: expected 1 to 65535, or 0 for a free one")
    try:
        return PageServer(ServedFolder(folder), port, debug=debug)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        why = "is taken, maybe by another `farm serve`" if taken else f"cannot be used: {error.strerror}"
        raise ExperimentError(f"port {port} {why}; try another, or --port 0 for a free one") from error


class PageServer(ThreadingHTTPServer):
    """Listens on this machine alone; each request has a thread of its own."""

    allow_reuse_port = False

    def __init__(self, served: ServedFolder, port: int, *, debug: bool = False) -> None:
        self.served, self.debug = served, debug
        super().__init__((HOST, port), PageHandler)

    def server_bind(self) -> None:
        """Take the port, without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that were gone before they had their answer."""
        if self.debug and not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class PageHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: PageServer
    default_request_version = "HTTP/1.0"  # without one there would be no headers
    timeout = 60

    def do_GET(self) -> None:
        """Answer with a page."""
        if not self._is_for_us():
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        try:
            made = self.server.served.page(self.path)
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for an answer
            if self.server.debug:
                traceback.print_exc()
            told = f"{one_line(error)}."
            if not isinstance(error, FarmError):
                told = f"Unexpected failure: {told} Run `farm serve` again with --debug and report it."
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, error_page("This cannot be shown", told))
            return
        if made is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._answer(HTTPStatus.OK, made)

    def do_HEAD(self) -> None:
        """Answer as to GET; the page itself is not sent."""
        self.do_GET()

    def _is_for_us(self) -> bool:
        asked, port = self.headers.get_all("Host", []), self.server.server_port
        known = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
        return len(asked) == 1 and asked[0].strip().lower() in known

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with an error, whoever found it."""
        del message, explain
        unknown_method = code == HTTPStatus.NOT_IMPLEMENTED
        status = HTTPStatus.METHOD_NOT_ALLOWED if unknown_method else HTTPStatus(code)
        told = TOLD.get(status, "This request cannot be understood.")
        allowed = {"Allow": "GET, HEAD"} if unknown_method else {}
        self._answer(status, error_page(status.phrase, told), allowed)

    def _answer(self, status: HTTPStatus, page: str, more: dict[str, str] | None = None) -> None:
        body = page.encode("utf-8", "backslashreplace")
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Return what this server is called, which tells no versions."""
        return "farm-testbed"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing of requests."""
