"""What a built site must be: every link inside leads somewhere, and nothing is loaded from another host."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = dict.fromkeys(["script", "img", "iframe", "source", "audio", "video"], "src") | {"link": "href"}
ONLY_SAID = {"canonical", "prev", "next", "search", "author", "copyright", "license"}  # a link that loads nothing


class Page(HTMLParser):
    """What a page loads, what it links to, and the names that can be linked to in it."""

    def __init__(self, text: str):
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what this element loads, links to and is called."""
        found = dict(attrs)
        self.names |= {name for name in (found.get("id"), found.get("name")) if name}
        address = found.get(LOADED.get(tag, ""))
        if address and not (tag == "link" and set((found.get("rel") or "").split()) & ONLY_SAID):
            self.loads.append(address)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")


def faults(folder: Path, live: bool = False) -> Iterator[str]:
    """One line for each fault. If only the `live` pages were built, links to the others are not followed."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(folder).as_posix()
        for address in page.loads + page.links:
            parts = urlsplit(address)
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                if address in page.loads:
                    yield f"{here} loads {address[:100]}, which is on another host"
                continue
            if parts.path.startswith("/"):
                yield f"{here} points at {address[:100]}: in a sub-folder of a host that is another place"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(folder.resolve()) or not target.is_file():
                if not (live and target.is_relative_to(folder.resolve()) and "live" not in target.parts):
                    yield f"{here} points at {address[:100]}: there is no such file"
            elif parts.fragment and target in pages and "=" not in parts.fragment:  # name=value is for a live page
                if unquote(parts.fragment) in pages[target].names:
                    continue
                yield f"{here} points at {address[:100]}: there is no such place in that page"
    for style in folder.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        if "url(http" in text or 'url("http' in text or "@import url(//" in text:
            yield f"{style.relative_to(folder).as_posix()} loads something from another host"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve(), live="--live" in sys.argv))
    sys.exit("\n".join(found) or 0)
