"""Files that never change under their address."""

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from .render import STATIC, digest


class Static(StaticFiles):
    """The dashboard's own files; those asked for with their digest may be kept for ever."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file."""
        response = await super().get_response(path, scope)
        known = scope["query_string"].decode("latin-1") == digest()
        kept = "public, max-age=31536000, immutable" if known else "no-cache"
        response.headers["Cache-Control"] = kept
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
