"""Uvicorn's protocol over httptools, with limits; httptools need not be installed."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .protocol import Limited


class LimitedHttpTools(Limited, HttpToolsProtocol):
    """Its parser calls these methods."""

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.read_headers()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self.read_body(complete=False)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.read_body(complete=True)
