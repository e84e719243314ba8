"""How PowerShell and cmd turn a line into a program's arguments, by their documented rules, as far as our pages go."""

import re

POWERSHELL_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def powershell(line, before_7_3):
    """The arguments of a native program; before 7.3 a quotation mark within one was not escaped on the way to it."""
    words = _powershell_words(line)
    if not before_7_3:
        return words
    return windows_argv(
        " ".join(f'"{word}"' if re.search(r"\s", word) or not word else word for word in words)
    )


def _powershell_words(line):
    """Single quotes keep all but '', double quotes know ` and $; outside of both, blanks end a word."""
    part = re.compile(
        r"'((?:[^']|'')*)'|\"((?:`.|\"\"|[^\"`])*)\"|([^\s'\"`$;|&(){}<>@#,]+)|(\s+)", re.S
    )
    words, at = [""], 0
    while at < len(line):
        found = part.match(line, at)
        assert found, f"not a plain argument: {line[at:]}"
        single, double, bare, blank = found.groups()
        assert "$" not in (double or ""), "it would be expanded"
        if blank:
            words.append("")
        elif double is not None:
            words[-1] += re.sub(
                r"`(.)",
                lambda one: POWERSHELL_ESCAPES.get(one[1], one[1]),
                double.replace('""', '"'),
            )
        else:
            words[-1] += bare or single.replace("''", "'")
        at = found.end()
    return words


def cmd(line, batch):
    """In a batch file %% is a percent sign, at the prompt nothing is. Outside of quotes ^ &<>| mean something."""
    if batch:
        line = re.sub(r"%(?:%|[^%\s]+%)", lambda one: "%" if one[0] == "%%" else "(expanded)", line)
    else:
        assert not re.search(r"%[^%\s]+%", line), "it would be expanded"
    assert not set("^&<>|") & set(re.sub(r'"[^"]*"?', "", line)), "cmd would act on it"
    return windows_argv(line)


def windows_argv(line):
    """As the C runtime splits it: 2n backslashes before a quotation mark are n, and an odd one keeps the mark."""
    words, quoted = [], False
    for slashes, mark, blank, other in re.findall(r"(\\*)(?:(\")|(\s)|([^\\\"\s]|$))", line):
        if not words:
            words.append("")
        words[-1] += slashes[: len(slashes) // 2] if mark else slashes
        if mark and len(slashes) % 2:
            words[-1] += mark
        elif mark:
            quoted = not quoted
        elif blank and not quoted:
            words.append("")
        else:
            words[-1] += blank + other
    assert not quoted, "a quotation mark is not closed"
    return words
