"""The modules of `hsd/web`: what each imports, and any of them as one script with its imports."""

import re
from functools import cache
from posixpath import dirname, join, normpath

from hsd.errors import HsdError
from hsd.paths import WEB

STATEMENT = re.compile(
    r'^(import|export) (?:(\{[^}]*\}|\* as \w+)(?: from)?)? ?(?:"([^"]+)")?;.*\n', re.MULTILINE
)
LATER = re.compile(r'\bimport\("(\.[^"]+)"\)')
WORKER = re.compile(r'\bstartWorker\(new URL\("(\.[^"]+)"')
COMMENT = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)[ \t]*\n", re.MULTILINE)
"""Patterns of import and export statements, `import()`, a worker's start, comments on own lines."""


@cache
def content(name: str) -> bytes:
    """Return a file of `hsd/web` as browsers get it.

    A module of ours without comments, which are a fifth of it.
    """
    data = (WEB / name).read_bytes()
    own = name.endswith(".js") and not name.startswith("vendor/")
    return COMMENT.sub("", data.decode()).encode() if own else data


def read(name: str) -> str:
    """Return `content` as text."""
    return content(name).decode()


def imports(module: str) -> list[str]:
    """Return the modules that `module` names in its import and export statements."""
    return [_resolved(module, path) for _, _, path in STATEMENT.findall(read(module)) if path]


def imported_later(module: str) -> list[str]:
    """Return the modules that `module` imports by `import()` or starts as workers.

    There are none for a vendored one.
    """
    if module.startswith("vendor/"):
        return []
    text = read(module)
    return [_resolved(module, path) for path in (*LATER.findall(text), *WORKER.findall(text))]


def modules(*entries: str) -> list[str]:
    """Return these modules and all that they import, directly or not, each after its imports."""
    ordered: list[str] = []

    def add(name: str) -> None:
        if name not in ordered:
            for other in imports(name):
                add(other)
            ordered.append(name)

    for entry in entries:
        add(entry)
    return ordered


def script(*entries: str) -> str:
    """Return the text of a script of `modules(*entries)`.

    Each module is a function in it that returns its exports. Modules that are only imported on
    demand are left out. Raises HsdError for one that cannot be part of a script.
    """
    names = modules(*entries)
    text = "".join(_as_function(name, names) for name in names)
    if "</script" in text.lower():
        raise HsdError("a module of the page names the tag that would end it")
    return text


def _resolved(module: str, path: str) -> str:
    return normpath(join(dirname(module), path))


def _variable(module: str) -> str:
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _as_function(name: str, names: list[str]) -> str:
    """Return `const $kit_dom = await (async () => { … return { h, s }; })();` for a module.

    names: all modules.
    """
    exported: list[str] = []

    def statement(match: re.Match[str]) -> str:
        kind, bindings, path = match.groups()
        of = _variable(_resolved(name, path)) if path else ""
        if kind == "export":
            names = re.findall(r"(\w+)(?: as (\w+))?", bindings)
            exported.extend(f"{new or old}: {of + '.' if of else ''}{old}" for old, new in names)
            return ""
        if not bindings:
            return ""
        return f"const {bindings.replace(' as ', ': ').removeprefix('*:').strip()} = {of};\n"

    def later(match: re.Match[str]) -> str:
        other = _resolved(name, match[1])
        return f"Promise.resolve({_variable(other)})" if other in names else "Promise.reject()"

    body = LATER.sub(later, STATEMENT.sub(statement, read(name)))
    if re.search(r"^(?:import|export)\b", body, re.MULTILINE):
        raise HsdError(f"{name} imports or exports in a way that one script cannot have")
    whole = f"{body}return {{ {', '.join(exported)} }};\n"
    return f"const {_variable(name)} = await (async () => {{\n{whole}}})();\n"
