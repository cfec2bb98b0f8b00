"""The page about going live, played: the blocks of docs/going-live.md in order, by real programs.

    python -m website.going_live        # in full, and writes into the page what was printed

A `toml` block is saved as feed.toml, an `sh` block is a server that runs to the end, and the lines
of a `console` block that begin with $ are commands of `sojourn` and of the load
generator, whose output follows them, and of `curl`, which are asked from here, and whose answers
are left out. The tests play the page small: `scale` multiplies the visits.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "going-live.md"
BLOCK = re.compile(r"^```(toml|sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:'[^']*'|\\\n|[^'\n])+)$", re.MULTILINE)
HERE = "http://127.0.0.1:8000"
PATIENCE = 600.0
REFUSED = 2  # the exit code of `sojourn` for what it cannot do


def play(text: str, folder: Path, scale: float = 1.0, serving: Sequence[str] = ()) -> str:
    """The page with what its commands print now; `serving` are options of the server."""
    url = HERE
    with ExitStack() as running:

        def played(block: re.Match[str]) -> str:
            nonlocal url
            language, body = block.groups()
            if language == "toml":
                (folder / "feed.toml").write_text(body)
            elif language == "sh":
                url = running.enter_context(server(body, folder, serving))
            else:
                typed = COMMAND.findall(body)
                body = "\n".join(f"$ {t}\n{printed(t, folder, url, scale)}" for t in typed)
            return f"```{language}\n{body}```"

        return BLOCK.sub(played, text)


def printed(command: str, folder: Path, url: str, scale: float = 1.0) -> str:
    """What a command prints, if it is one of ours; in small also the sentence of a refusal."""
    words = shlex.split(command.replace("\\\n", " ").replace(HERE, url))
    if "--visits" in words:
        place = words.index("--visits") + 1
        words[place] = str(max(round(int(words[place]) * scale), 1))
    if words[0] == "curl":
        curl(words[1:])
        return ""
    words[:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", "sojourn"]
    found = subprocess.run(
        words, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    refused = found.returncode == REFUSED and scale < 1.0
    if found.returncode and not refused:
        raise RuntimeError(f"{command}\n{found.stdout}{found.stderr}")
    text = found.stderr if refused else found.stdout
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _environment() -> dict[str, str]:
    """That of this process, with this repository's benchmarks to be found from any folder."""
    paths = [str(PAGE.parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def curl(words: Sequence[str]) -> None:
    """Ask what a line of curl asks; the machine need not have it."""
    parser = argparse.ArgumentParser(prog="curl", allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("-X", dest="method", default="GET")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", dest="body")
    for flag in "fsS":
        parser.add_argument(f"-{flag}", action="store_true")
    asked = parser.parse_args(words)
    headers = dict(header.split(": ", 1) for header in asked.headers)
    body = None if asked.body is None else asked.body.encode()
    request = urllib.request.Request(asked.url, body, headers, method=asked.method)
    try:
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError as error:
        with error:
            if asked.f:
                raise RuntimeError(f"{asked.url}: {error.code} {error.read().decode()}") from None


@contextmanager
def server(command: str, folder: Path, more: Sequence[str]) -> Iterator[str]:
    """The address of a server on a free port, which ends with this."""
    words = [sys.executable, "-m", *shlex.split(command), "--port", "0", *more]
    log = folder / "server.txt"
    with log.open("w") as file:
        process = subprocess.Popen(words, cwd=folder, stdout=file, stderr=file)
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"(http://\S+:\d+)/", log.read_text())
        if found:
            with urllib.request.urlopen(f"{found[1]}/healthz", timeout=PATIENCE):
                return found[1]
        time.sleep(0.05)
    raise RuntimeError(f"the server did not start:\n{log.read_text()}")


def skeleton(text: str) -> str:
    """The page without what its commands print."""

    def bare(block: re.Match[str]) -> str:
        language, body = block.groups()
        if language == "console":
            body = "\n".join(f"$ {command}\n" for command in COMMAND.findall(body))
        return f"```{language}\n{body}```"

    return BLOCK.sub(bare, text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(play(PAGE.read_text(), Path(folder)))
