"""Signing in with a key, where one is needed."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..keys import COOKIE
from ..limits import read_body

LONGEST = 4096
"""Bytes of a form."""

Page = Callable[..., Response]


def signed_in(request: Request) -> bool:
    """Whether the reader came with a key."""
    return "sojourn.key" in request.scope


def may_see(request: Request, name: str) -> bool:
    """Whether the reader's key, if one is needed, is good for an experiment."""
    key = request.scope.get("sojourn.key")
    return key is None or key.allows(name)


def login_route(page: Page) -> Route:
    """The form, and what it sends: a key, or the wish to sign out."""

    async def login(request: Request) -> Response:
        if request.app.state.keyring is None:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return page(request, "login.html", wrong="")
        if not _own(request):
            return page(request, "login.html", 403, wrong="The form came from another site.")
        form = parse_qs((await read_body(request.receive, LONGEST)).decode("latin-1"))
        if "out" in form:
            response = RedirectResponse("/login", 303)
            response.delete_cookie(COOKIE)
            return response
        token = form.get("key", [""])[0].strip()
        if request.app.state.keyring.find(token) is None:
            return page(request, "login.html", 401, wrong="This is not a key, or no longer one.")
        return _with_key(request, token)

    return Route("/login", login, methods=["GET", "POST"])


def _own(request: Request) -> bool:
    """Whether a form was sent by a page of this site; browsers say where it is from."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _with_key(request: Request, token: str) -> Response:
    """To the experiments, with a cookie that no script and no other site can use."""
    response = RedirectResponse("/", 303)
    response.set_cookie(
        COOKIE,
        token,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response
