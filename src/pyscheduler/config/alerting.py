"""Notifiers, routes, agents: checked for shape and for names that exist, kept as typed. Spec: jobs.md 15.2, 15.3, 15.7.

What is kept still has its `${NAME}`: the part that sends will put the values in, and nothing before it can show one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from pyscheduler.config.complaints import Spot, shown
from pyscheduler.config.reading import Reading
from pyscheduler.config.schema import AgentsKeys
from pyscheduler.config.schema_alerts import NOTIFIERS, PLUGINS, PluginNotifier, RouteKeys
from pyscheduler.config.shapes import read_shape
from pyscheduler.config.tree import Block, Items, Tree
from pyscheduler.model.alert import AlertKind
from pyscheduler.model.ids import SCHEDULER
from pyscheduler.model.job import Criticality

_WORD: Final = re.compile(r"\*|#|[A-Za-z0-9_-]+")


def plain(tree: Tree) -> Any:
    """Return the tree as ordinary dicts, lists and text, as typed."""
    if isinstance(tree, Block):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, Items):
        return [plain(item) for item in tree]
    return str(tree)


# --------------------------------------------------------------------------- notifiers


def check_notifier(spot: Spot, reading: Reading) -> Mapping[str, Any] | None:
    """Return the notifier as typed, or None after complaining."""
    if not isinstance(spot.tree, Block):
        spot.error((), "must be a mapping", "write type: and its options, indented below it")
        return None
    kind = spot.tree.get("type")
    if not isinstance(kind, str):
        spot.error(("type",), "type is missing", f"it is one of {', '.join(NOTIFIERS)}")
        return None
    model = NOTIFIERS.get(kind)
    if model is None:
        plugins = {point.name for point in entry_points(group=PLUGINS)}
        if kind not in plugins:
            known = [*NOTIFIERS, *sorted(plugins)]
            hint = spot.complaints.did_you_mean(kind, known) or f"it is one of {', '.join(known)}"
            spot.error(("type",), f"unknown type {shown(kind)}", hint)
            return None
        model = PluginNotifier
    keys = read_shape(model, spot, reading)
    if keys is None:
        return None
    given = keys.given()
    if kind == "email" and ("username" in given) != ("password" in given):
        spot.error((), "username and password stand together or not at all")
        return None
    kept: dict[str, Any] = plain(spot.tree)
    return kept


# --------------------------------------------------------------------------- routes


def check_routes(
    spot: Spot, reading: Reading, notifiers: Collection[str], jobs: Collection[str]
) -> tuple[Mapping[str, Any], ...]:
    """Return the routes as typed, leaving out those complained about. `spot` is the section's."""
    if not isinstance(spot.tree, Items):
        spot.error((), "must be a list", "write - match: PATTERN and notify: [NAME]")
        return ()
    names = set(jobs)
    kept = []
    for number, item in enumerate(spot.tree):
        route = Spot(spot.complaints, spot.order, spot.file, item, spot.tree.item_place(number), path=spot.path)
        keys = read_shape(RouteKeys, route, reading)
        if keys is None:
            continue
        check_notified(keys.notify, notifiers, route, ("notify",))
        _check_pattern(keys.match, route, names)
        kept.append(plain(item))
    return tuple(kept)


def check_notified(names: Iterable[str], known: Collection[str], spot: Spot, loc: tuple[str, ...]) -> None:
    """Complain about every name that is no notifier."""
    for number, name in enumerate(names):
        if name not in known:
            spot.error((*loc, number), f"unknown notifier {shown(name)}", spot.complaints.did_you_mean(name, known))


def _check_pattern(pattern: str, spot: Spot, jobs: set[str]) -> None:
    words = pattern.split(".")
    if not all(_WORD.fullmatch(word) for word in words):
        mend = "write words with dots between them, * for one word, # for any number, as in alert.failed.#"
        spot.error(("match",), f"{shown(pattern)} is no pattern", mend)
    elif not can_match(words, jobs):
        what = f"{shown(pattern)} can match no alert: they read alert.KIND.CRITICALITY.JOB"
        spot.warning(("match",), what)


def can_match(words: list[str], jobs: set[str]) -> bool:
    """Return whether a pattern's words can match the topic of any alert there may ever be."""
    levels: tuple[set[str], ...] = (
        {"alert"},
        {kind.value for kind in AlertKind},
        {each.word for each in Criticality},
        jobs | {SCHEDULER},
    )
    reached = {0}
    for word in words:
        if word == "#":
            reached = set(range(min(reached), len(levels) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(levels) and (word == "*" or word in levels[at])}
    return len(levels) in reached


# --------------------------------------------------------------------------- agents


def check_agents(spot: Spot, reading: Reading, folder: str) -> Mapping[str, Any] | None:
    """Return the section as typed, or None after complaining. Its paths lie beside the file, in `folder`."""
    keys = read_shape(AgentsKeys, spot, reading)
    if keys is None:
        return None
    given = keys.given()
    if "listen" in given and "broker" in given:
        spot.error(("broker",), "listen embeds a broker and broker uses another", "keep one of them", at_key=True)
    if ("listen" in given or "broker" in given) and "secrets_file" not in given:
        spot.error((), "secrets_file is missing: agents prove themselves by a secret")
    if "secrets_file" in given:
        _check_secrets(given["secrets_file"], folder, spot)
    kept: dict[str, Any] = plain(spot.tree)
    return kept


def _check_secrets(path: str, folder: str, spot: Spot) -> None:
    try:
        mode = os.stat(os.path.join(folder, path)).st_mode
    except OSError as error:
        spot.error(("secrets_file",), f"{shown(path)} cannot be read: {error.strerror}")
        return
    if mode & 0o077:
        spot.warning(("secrets_file",), f"{shown(path)} is readable by others", f"chmod 600 {path}")
