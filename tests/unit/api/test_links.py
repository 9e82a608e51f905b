"""One-time links."""

from __future__ import annotations

from pyscheduler.api.links import LIFE_S, MOST, Links


def test_a_link_lets_in_once() -> None:
    """Whoever brings it first has used it up."""
    links = Links()
    code = links.make(0.0)
    assert links.use(code, 1.0)
    assert not links.use(code, 1.0)
    assert len(links) == 0


def test_a_link_is_good_for_a_minute() -> None:
    """One that came too late is used up as well."""
    links = Links()
    code = links.make(0.0)
    assert not links.use(code, LIFE_S)
    assert not links.use(code, 0.0)


def test_what_is_no_code_lets_nobody_in_and_uses_nothing_up() -> None:
    """Not even a part of one."""
    links = Links()
    code = links.make(0.0)
    for wrong in ("", code[:-1], code + "x", "\udcff", "x" * 1_000_000):
        assert not links.use(wrong, 0.0)
    assert links.use(code, 0.0)


def test_there_are_never_many() -> None:
    """A new one takes the oldest one's place."""
    links = Links()
    codes = [links.make(0.0) for _ in range(MOST + 1)]
    assert len(links) == MOST
    assert not links.use(codes[0], 0.0)
    assert links.use(codes[-1], 0.0)


def test_the_code_itself_is_not_kept() -> None:
    """A look into the memory does not let anybody in."""
    links = Links()
    code = links.make(0.0)
    assert code not in str(vars(links))


def test_one_that_was_ours_is_news_once() -> None:
    """Used, too old, or driven out by newer ones; what was never ours is nobody's business."""
    links = Links()
    used, old = links.make(0.0), links.make(0.0)
    assert links.use(used, 1.0)
    assert [links.is_news(used) for _ in range(3)] == [True, False, False]
    assert not links.use(old, LIFE_S)
    assert [links.is_news(old) for _ in range(2)] == [True, False]
    assert not links.is_news("x" * 1_000_000)
    assert not links.is_news("never ours")
    driven_out = links.make(0.0)
    for _ in range(MOST):
        links.make(0.0)
    assert links.is_news(driven_out)
    for _ in range(3 * MOST):
        links.make(0.0)
    assert len(links._gone) == MOST
