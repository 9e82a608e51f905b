"""Check every link and anchor between the pages of the manual; addresses elsewhere are not visited."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return the anchors that a page's headings make."""
    plain = (re.sub(r"[`*_]", "", heading).strip().lower() for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def complaints(page: Path) -> list[str]:
    """Return what is wrong with a page's links."""
    text = FENCE.sub("", page.read_text())
    found = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if not other.exists():
            found.append(f"{page.relative_to(ROOT)}: {target} does not exist")
        elif anchor and other.suffix == ".md" and anchor not in anchors(FENCE.sub("", other.read_text())):
            found.append(f"{page.relative_to(ROOT)}: {target} has no such heading")
    return found


def main() -> int:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    found = [complaint for page in sorted(pages) for complaint in complaints(page)]
    print("\n".join(found) or f"== links: {len(pages)} pages are sound")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
