"""Signing in with an API key, where the service needs one."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..keys import COOKIE
from ..limits import read_body

LONGEST = 4096  # bytes of a form, at most
Page = Callable[..., Response]


def signed_in(request: Request) -> bool:
    """Whether the request has a valid key."""
    return "sojourn.key" in request.scope


def may_see(request: Request, name: str) -> bool:
    """Whether the key of the request, if one is needed, is valid for an experiment."""
    key = request.scope.get("sojourn.key")
    return key is None or key.allows(name)


def login_route(page: Page) -> Route:
    """The form, which posts a key to sign in, or `out` to sign out."""

    async def login(request: Request) -> Response:
        if request.app.state.keyring is None:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return page(request, "login.html", wrong="")
        if not _same_origin(request):
            return page(request, "login.html", 403, wrong="The form came from another site.")
        form = parse_qs((await read_body(request.receive, LONGEST)).decode("latin-1"))
        if "out" in form:
            response = RedirectResponse("/login", 303)
            response.delete_cookie(COOKIE)
            return response
        token = form.get("key", [""])[0].strip()
        if request.app.state.keyring.find(token) is None:
            return page(request, "login.html", 401, wrong="This key is not valid.")
        response = RedirectResponse("/", 303)  # with a cookie closed to scripts and other sites
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
        return response

    return Route("/login", login, methods=["GET", "POST"])


def _same_origin(request: Request) -> bool:
    """Whether a form comes from a page of this site, by the Origin that browsers send."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")
