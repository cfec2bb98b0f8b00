"""API keys: who may do what, how keys come and go, and that no secret is written anywhere."""

import json
import logging
import logging.config
import re
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from asgi import Caller, client

from sojourn.cli.main import main
from sojourn.service.app import Options
from sojourn.service.auth import keys, sessions
from sojourn.service.server import logging_configuration, run, secrets_of

PLAIN = {"arms": ["a", "b"], "policy": {"name": "Uniform"}}


def auth(token: str) -> dict[str, dict[str, str]]:
    return {"headers": {"authorization": f"Bearer {token}"}}


def look_again(http: Caller) -> None:
    """Instead of waiting for a second."""
    http.app.state.keyring._due = 0.0


def test_keys_are_kept_as_hashes(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, token = keys.make(file, ["shorts"])
    prefix, id, secret = token.split("_", 2)
    assert (prefix, id) == ("sj", key.id)
    assert len(secret) == 43  # 256 bits
    text = file.read_text()
    assert secret not in text and key.hash in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {f.name for f in tmp_path.iterdir()} == {"keys.json", ".keys.json.lock"}
    other = keys.make(file, ["*"])[1]
    ring = keys.Keyring(file)
    assert ring.find(token) == key
    assert ring.find(other) is not None
    wrong = [secret, token + "x", f"sj_{id}_", f"sj_none_{secret}", "", "sj", "sj__", "sj_\udcff_a"]
    assert [ring.find(text) for text in wrong] == [None] * len(wrong)


def test_unknown_ids_take_the_same_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys.json"
    _, token = keys.make(file, ["*"])
    ring, compared = keys.Keyring(file), []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("sojourn.service.auth.keys.hmac.compare_digest", compare)
    assert ring.find("sj_unknown_secret") is None
    assert ring.find("nonsense") is None
    assert ring.find(token) is not None
    assert compared == [(64, 64)] * 3


def test_who_may_do_what(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    all_, shorts = (keys.make(file, [name])[1] for name in ("*", "shorts"))
    page = {"accept": "text/html"}
    with client(keys=file, host="0.0.0.0") as http:
        for name in ("shorts", "news"):
            path = f"/v1/experiments/{name}"
            assert http.put(path, json=PLAIN).status_code == 401
            assert http.put(path, json=PLAIN, **auth(all_)).status_code == 201
        table = [
            # path, without a key, with one for shorts, with one for all
            ("/v1/experiments", 401, 200, 200),
            ("/v1/experiments/shorts", 401, 200, 200),
            ("/v1/experiments/news", 401, 403, 200),
            ("/v1/experiments/n%65ws", 401, 403, 200),
            ("/v1/experiments/news/insight", 401, 403, 200),
            ("/v1/experiments/none", 401, 403, 404),
            ("/nothing", 401, 404, 404),
            ("/metrics", 401, 403, 200),
            ("/healthz", 200, 200, 200),
            ("/readyz", 200, 200, 200),
            ("/openapi.json", 200, 200, 200),
        ]
        for path, *statuses in table:
            answers = [http.get(path), http.get(path, **auth(shorts)), http.get(path, **auth(all_))]
            assert [answer.status_code for answer in answers] == statuses, path
        refused = http.get("/v1/experiments")
        assert refused.json()["error"] == "unauthorized"
        assert refused.headers["www-authenticate"] == "Bearer"
        hot = "/v1/experiments/news/visits/v/decisions"
        assert http.post(hot, json={"opening": {}}).status_code == 401
        assert http.post(hot, json={"opening": {}}, **auth(shorts)).status_code == 403
        assert http.post(hot, json={"opening": {}}, **auth(all_)).status_code == 200
        assert http.get("/v1/experiments", **auth(shorts)).json()["experiments"] == ["shorts"]
        assert http.put("/v1/experiments/more", json=PLAIN, **auth(shorts)).status_code == 403
        assert (
            http.get("/v1/experiments", headers={"host": "any.example", **page}).status_code == 401
        )

        answer = http.get("/experiments/shorts", headers=page)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        text = http.get("/metrics", **auth(all_)).text
        assert 'sojourn_unauthorized_total{status="403"}' in text


NEW = """
import sys
from pathlib import Path
from sojourn.service.auth import keys
for name in sys.argv[2:]:
    keys.make(Path(sys.argv[1]), [name])
"""


def test_no_change_of_the_file_is_lost(tmp_path: Path) -> None:
    """Processes and threads make keys while others revoke some: all of it is in the file."""
    file = tmp_path / "keys.json"
    doomed = [keys.make(file, ["old"])[0].id for _ in range(20)]
    names = [[f"{process}-{n}" for n in range(20)] for process in range(3)]
    made = [subprocess.Popen([sys.executable, "-c", NEW, file, *some]) for some in names[1:]]
    work = [threading.Thread(target=keys.make, args=(file, [name])) for name in names[0]]
    work += [threading.Thread(target=keys.revoke, args=(file, id)) for id in doomed]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert [process.wait(60) for process in made] == [0, 0]
    found = sorted(key.experiments[0] for key in keys.read(file).values())
    assert found == sorted(name for some in names for name in some)


def test_the_file_stays_as_readable_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, _ = keys.make(file, ["*"])
    file.chmod(0o640)
    keys.make(file, ["*"])
    keys.revoke(file, key.id)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_every_key_of_a_file_has_a_role(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = {"id": "a", "hash": "0" * 64, "experiments": ["shorts"], "made": 0.0, "expires": None}
    file.write_text(json.dumps({"keys": [key | {"role": "read"}]}))
    keys.make(file, ["*"])
    assert [key.role for key in keys.read(file).values()] == ["read", "owner"]
    for wrong in ({}, {"role": "king"}, {"role": "operator"}, {"role": None}):
        file.write_text(json.dumps({"keys": [key | wrong]}))
        with pytest.raises(ValueError, match="is not a file of keys"):
            keys.read(file)


def test_keys_come_and_go_while_serving(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    old, old_token = keys.make(file, ["*"])
    with client(keys=file) as http:
        _, new_token = keys.make(file, ["*"])
        look_again(http)
        for token in (old_token, new_token):
            assert http.get("/v1/experiments", **auth(token)).status_code == 200
        keys.revoke(file, old.id)
        look_again(http)
        assert http.get("/v1/experiments", **auth(old_token)).status_code == 401
        assert http.get("/v1/experiments", **auth(new_token)).status_code == 200
        file.write_text("{")  # a mistake: the keys stay as they were
        look_again(http)
        assert http.get("/v1/experiments", **auth(new_token)).status_code == 200


def test_keys_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys.json"
    _, token = keys.make(file, ["*"], expires_in_days=1)
    ring, now = keys.Keyring(file), time.time()
    assert ring.find(token) is not None
    monkeypatch.setattr("sojourn.service.auth.keys.time.time", lambda: now + 86_401)
    assert ring.find(token) is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys.json"
    new = ["keys", "new", str(file), "--experiment", "shorts"]
    assert main([*new, "--experiment", "news", "--expires", "30"]) == 0
    token = capsys.readouterr().out.strip()
    assert keys.Keyring(file).find(token) is not None
    assert main(["keys", "list", str(file)]) == 0
    listed = capsys.readouterr().out
    id = token.split("_")[1]
    assert id in listed and "shorts, news" in listed and "until 20" in listed
    assert token.split("_", 2)[2] not in listed
    assert re.search(f"^{id}  owner +shorts, news", listed, re.M)
    assert main([*new, "--role", "decide", "--json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == {"id", "key"}
    assert main(["keys", "list", str(file), "--json"]) == 0
    one, other = json.loads(capsys.readouterr().out)
    assert (one["id"], one["role"], other["role"]) == (id, "owner", "decide")
    assert main(["keys", "new", str(file), "--role", "operator", "--json"]) == 0
    operator = keys.read(file)[json.loads(capsys.readouterr().out)["id"]]
    assert (operator.role, operator.experiments) == ("operator", ("*",))
    assert main(["keys", "revoke", str(file), id]) == 0
    assert keys.Keyring(file).find(token) is None
    for wrong, sentence in (
        (["revoke", str(file), "zzz"], "there is no key 'zzz'"),
        (["new", str(file)], "--experiment is missing"),
        (["new", str(file), "--experiment", "a", "--expires", "-1"], "--expires -1 is not allowed"),
        (["new", str(file), "--role", "king"], "--role = 'king' is not allowed: it must be one of"),
        (
            ["new", str(file), "--role", "operator", "--experiment", "a"],
            "role = 'operator' is not allowed for a: an operator has all experiments, '*'",
        ),
        (["list", str(tmp_path / "none.json")], "cannot be read"),
        (["new", str(tmp_path / "no" / "k.json"), "--experiment", "a"], "cannot be written"),
    ):
        assert main(["keys", *wrong]) == 2
        assert sentence in capsys.readouterr().err


def test_keys_are_needed_unless_only_this_machine_can_call(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "127.8.9.1", "localhost", "::1"):
        assert Options(host=host).local
    for host in ("0.0.0.0", "192.168.1.2", "::", "www.example.com", ""):
        with pytest.raises(ValueError, match="needs keys: create a file of them with sojourn keys"):
            Options(host=host)
        assert not Options(host=host, keys=tmp_path / "keys.json").local
    with pytest.raises(ValueError, match=r"none.json cannot be read"):
        run(Options(store="memory://", keys=tmp_path / "none.json"))


SECRETS = ["hunter22", "p%40ss/word:1", "p@ss/word:1"]


@pytest.mark.parametrize("form", ["json", "text"])
def test_lines_without_secrets(form: str) -> None:
    url = "postgresql://ann:p%40ss/word:1@host/db?password=hunter22"
    made = logging_configuration(form, "debug", secrets_of(url))["formatters"]["lines"]
    formatter: logging.Formatter = made.pop("()")(**made)
    token = "sj_1f2e3d4c_" + "x" * 43
    record = logging.makeLogRecord(
        {"msg": "cannot use %s and %s: %s", "args": (url, SECRETS, token), "key": "k1",
         "levelname": "INFO", "authorization": f"Bearer {token}"}
    )  # fmt: skip
    line = formatter.format(record)
    for secret in [*SECRETS, "x" * 43, "word"]:
        assert secret not in line, line
    assert "cannot use" in line and "k1" in line
    if form == "json":
        assert json.loads(line).keys() >= {"time", "level", "logger", "message", "key"}


def test_nothing_secret_is_logged_at_any_level(tmp_path: Path) -> None:
    """Every record of a run, before any formatter has hidden anything in it."""
    file = tmp_path / "keys.json"
    tokens = [keys.make(file, [name])[1] for name in ("*", "shorts")]
    records: list[logging.LogRecord] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    root, handler = logging.getLogger(), Keep(level=0)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with client(keys=file, store=f"sqlite:///{tmp_path / 'live.db'}") as http:
            for token in (*tokens, "sj_no_such", "nonsense"):
                for path in ("shorts", "news"):
                    url = f"/v1/experiments/{path}"
                    both: dict[str, Any] = {
                        "headers": {
                            "authorization": f"Bearer {token}",
                            "cookie": f"{sessions.COOKIE}={token}",
                        }
                    }  # fmt: skip
                    http.put(url, json=PLAIN, **both)
                    http.post(f"{url}/visits/v/decisions", json={"opening": {}}, **both)
                    http.post(f"{url}/visits/v/step", json={"reward": 3}, **both)
                    http.get(f"/experiments/{path}", **both)
            http.request("BREW", "/", **auth(tokens[0]))
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    everything = "\n".join(str(vars(record)) + record.getMessage() for record in records)
    assert len(records) > 20
    for token in tokens:
        assert token not in everything
        assert token.split("_", 2)[2] not in everything
    assert not re.search("authorization|cookie|bearer", everything, re.IGNORECASE)
