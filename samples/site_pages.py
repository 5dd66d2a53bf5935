"""Pages of the project outside docs/ become pages of the site, and links to them lead there; see mkdocs.yml."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "samples/README.md": "samples.md",
    "samples/serve/README.md": "samples-serve.md",
}
_LINK = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
_TEXT_AND_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^)\s:#]+)\)")


def on_config(config: Any) -> Any:
    """Name the constructors that estimators get from their parameters as methods, so that they are documented."""
    import rulekit

    for name in rulekit.__all__:
        for base in getattr(getattr(rulekit, name), "__mro__", ()):
            made = vars(base).get("__init__")
            if "<locals>" in getattr(made, "__qualname__", ""):
                made.__qualname__, made.__module__ = f"{base.__qualname__}.__init__", base.__module__
                made.__name__ = "__init__"
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside docs/ under names of their own."""
    from mkdocs.structure.files import File

    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links out of docs/, and those of pages that stand outside, lead to pages of the site."""
    path = page.file.src_uri
    source = next((outside for outside, name in OUTSIDE.items() if name == path), f"docs/{path}")
    blocks = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(block if k % 2 else _with_links(block, source, path) for k, block in enumerate(blocks))


def _with_links(block: str, source: str, path: str) -> str:
    """Files of the project that are no page keep their text alone."""

    def page_or_text(found: re.Match[str]) -> str:
        target = _target(source, found[2])
        is_page = target in OUTSIDE or target.startswith("docs/")
        return found[1] if not is_page and (ROOT / target).exists() else found[0]

    def moved(found: re.Match[str]) -> str:
        target = _target(source, found[2])
        place = OUTSIDE.get(target, target.removeprefix("docs/"))
        return f"{found[1]}{posixpath.relpath(place, posixpath.dirname(path) or '.')}{found[3]}"

    return _LINK.sub(moved, _TEXT_AND_LINK.sub(page_or_text, block))


def _target(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
