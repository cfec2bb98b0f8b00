"""Names in a text become links to the reference.

Pages and docstrings are written for GitHub and for `help()`, where `sj.Fit` is just that. In the
site it is a link, the first time that a text has it.
"""

import re

from . import commands, names
from .markdown import outside_code

SPAN = re.compile(r"(?<![`\[\\])`([^`\n]+)`(?![`\]])")
NAME = re.compile(r"(sj\.|sojourn\.)?([A-Za-z_][\w.]*)(?=\(|$)")


def linked(text: str) -> str:
    """The text with links to the reference.

    >>> linked("`sj.policies.UCB`, `UCB`, `sojourn fit log.csv`, `x`")
    '[`sj.policies.UCB`][sojourn.policies.index.UCB], `UCB`, [`sojourn fit log.csv`][cli.fit], `x`'
    """
    seen: set[str] = set()

    def link(found: re.Match[str]) -> str:
        target = reference(found[1])
        if target is None or target in seen:
            return found[0]
        seen.add(target)
        return f"[{found[0]}][{target}]"

    return outside_code(text, lambda part: SPAN.sub(link, part))


def reference(code: str) -> str | None:
    """The identifier in the reference of what a piece of code names, if it names something public.

    Names without a module are those of `sojourn`, or of the only module that has it, and only
    capitalised ones: `fit` may be any word, `Fit` is ours. A method is on the page of its class.

    >>> reference("sj.ByArm.odds(user, [2, 0])"), reference("sojourn.live"), reference("fit")
    ('sojourn.users.wrappers.ByArm', 'reference.live', None)
    """
    first, *words = code.split() or [""]
    if first == "sojourn" and words:
        depths = (tuple(words[:n]) for n in range(len(words), 0, -1))
        return next((commands.identifier(p) for p in depths if p in commands.COMMANDS), None)
    found = NAME.match(code)
    if found is None or not (found[1] or found[2][0].isupper()):
        return None
    path, known = f"sojourn.{found[2]}", names.public()
    if path in names.modules():
        return names.identifier(names.modules()[path])
    while path and path not in known:
        path = path.rpartition(".")[0]
    return known[path].home if path else names.alone().get(found[2])
