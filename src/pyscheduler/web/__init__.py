"""TELL PEOPLE: the console in a browser, on the same engine, store and views as the API.

`pages` returns the routes for `build_app(more=…)`; `Dressed` stands around the whole application and gives a browser a
page where the API would answer with JSON. Pages are rendered from Jinja templates on helper threads (`press`), act
through the same JSON API as everybody else, and carry no inline script or style at all.

*Invariant:* nothing here changes a run, and nothing here is the only way to a fact: what a page shows, the API tells.
"""

from __future__ import annotations

from fastapi import APIRouter

from pyscheduler.api.desk import FrontDesk
from pyscheduler.web import assets, board, palette, places, run_page
from pyscheduler.web.day_sheets import DaySheets
from pyscheduler.web.dressed import Dressed
from pyscheduler.web.entrance import EntrancePages
from pyscheduler.web.press import Press

__all__ = ["Dressed", "EntrancePages", "Press", "pages"]


def pages(desk: FrontDesk, press: Press) -> list[APIRouter]:
    """Return the routes of every page, and of the files they need."""
    return [
        assets.router(),
        board.router(desk, press, DaySheets(desk)),
        run_page.router(desk, press),
        palette.router(desk, press),
        *places.routers(desk, press),
    ]
