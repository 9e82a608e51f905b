"""What is ours in the store, as far as we know: claims, starts, adoptions, and the look that sets it right (S8). C5.

What must always hold: memory is never evidence of ownership, so every step asks the store by token and owner; what is
in doubt is read back before anything is done about it; what the store says is ours and we know nothing of is given
back, and what was or may have been executed is never taken back (S6). One statement of ours at a time (`_turn`), so
that S8 never meets a claim or a start half done.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pyscheduler.cluster.heart import Heart
from pyscheduler.cluster.opened import Grant, Opened
from pyscheduler.cluster.orders import start_of
from pyscheduler.cluster.together import Together
from pyscheduler.cluster.vouching import take_over
from pyscheduler.engine.ports import AttemptHandle
from pyscheduler.errors import StoreError
from pyscheduler.model.run import Attempt
from pyscheduler.store.claims import Claim, Claims, Held, Owned, Proof

log = logging.getLogger(__name__)
T = TypeVar("T")

DOUBT_S: Final = 0.2


@dataclass(slots=True)
class Going:
    """One started attempt of ours. `cancelled`: a person asked for its stop. `lost`: it was taken from us."""

    token: int
    handle: AttemptHandle | None = None
    cancelled: bool = False
    lost: bool = False

    def hold(self, handle: AttemptHandle) -> None:
        """It runs; pass on what was wished in the meantime."""
        self.handle = handle
        if self.lost:
            handle.terminate("lease")
        elif self.cancelled:
            handle.terminate("kill", "cancelled")

    def cancel(self) -> None:
        """Stop it by a person's wish."""
        if not self.cancelled:
            self.cancelled = True
            if self.handle is not None:
                self.handle.terminate("kill", "cancelled")

    def lose(self) -> None:
        """Stop it because it is not ours any more."""
        if not self.lost:
            self.lost = True
            if self.handle is not None:
                self.handle.terminate("lease")


@dataclass(slots=True)
class Asked:
    """A start that is asked for; `is_wanted` while somebody waits for the answer."""

    claim: Claim
    attempt: Attempt
    is_wanted: bool = True

    def is_in(self, found: Container[tuple[str, int]]) -> bool:
        """Whether it is among these grants."""
        return (self.claim.run_id, self.claim.token) in found


class Grants:
    """See above. Belongs to one loop; `heart` says whether our lease holds, `boot` is the boot clock in seconds."""

    def __init__(self, claims: Claims, heart: Heart, boot: Callable[[], float]) -> None:
        self.claims = claims
        self.claimed: dict[str, Claim] = {}
        self.going: dict[str, Going] = {}
        self.doubt = False
        """Whether a store operation has failed since the last look (S8)."""
        self._heart = heart
        self._opened = Opened(boot)
        self._adopting: dict[Grant, Callable[[], None]] = {}
        """What S17 was asked for without an answer, and how to go on with it if it is ours: S8 finds out."""
        self._turn = asyncio.Lock()
        self._is_lost = False
        """Whether we were fenced."""
        self._starting: Together[Asked, bool] = Together(self._start)

    async def claim(self, count: int, tags: Iterable[str], jobs: Iterable[str]) -> list[Claim]:
        """S2, for runs of these jobs; nothing where our lease is in doubt. Raises StoreError."""
        if not self._heart.trusted:
            return []
        having = (*self.claims.me.tags, *tags)
        async with self._turn:
            found = await self._ask(lambda: self.claims.claim(count, tags=having, jobs=jobs))
            self.claimed.update((claim.run_id, claim) for claim in found)
        return found

    async def start(self, claim: Claim, attempt: Attempt) -> bool:
        """S3. Nothing may be executed before True; False: it is not ours any more.

        Raises StoreError where the start was not written: the claim is given back, and the run stays due.
        """
        asked = Asked(claim, attempt)
        try:
            return await self._starting(asked)
        except asyncio.CancelledError:
            asked.is_wanted = False
            raise

    async def _start(self, many: Sequence[Asked]) -> list[bool]:
        """S3 for all who ask at once. What nobody waits for any more is left to S8, which takes it back."""
        orders = [start_of(each.claim, each.attempt) for each in many]
        async with self._turn:
            try:
                may = await self._ask(lambda: self.claims.start(orders))
            except StoreError as error:
                log.warning("%d start(s) are in doubt, and read back: %s", len(many), error)
                found = await self._started()
                if not any(each.is_in(found) for each in many):
                    raise
                may = {each.claim.run_id for each in many if each.is_in(found)}
            finally:
                for each in many:
                    self.claimed.pop(each.claim.run_id, None)
            for each in (each for each in many if each.claim.run_id in may):
                if each.is_wanted:
                    self._take_on(each.claim.run_id, Going(each.claim.token))
                    self._opened.add((each.claim.run_id, each.claim.token))
                else:
                    self.doubt = True
        return [each.claim.run_id in may for each in many]

    async def hand_back(self, claims: Iterable[Claim], *, cancelled: bool = False) -> int:
        """S5: give claims back that were not started; returns how many. Where the store does not take them, S8 does."""
        left = [claim for claim in claims if self.claimed.get(claim.run_id) is claim]
        held = [Held(claim.run_id, claim.token) for claim in left]
        if not left:
            return 0
        try:
            async with self._turn:
                await self._ask(lambda: self.claims.hand_back(held, cancelled=cancelled))
        except StoreError as error:
            log.warning("%d claim(s) are not given back yet: %s", len(left), error)
        for claim in left:
            self.claimed.pop(claim.run_id, None)
        return len(left)

    async def adopt(self, owned: Owned, handle: AttemptHandle, proof: Proof, go_on: Callable[[], None]) -> bool:
        """S17: become the owner of an attempt that still runs; False where that is refused. `go_on` minds it.

        Raises StoreError; an adoption that is ours all the same is found by S8.
        """
        grant = owned.run_id, owned.token
        self._opened.add(grant)
        async with self._turn:
            try:
                if not await self._ask(lambda: self.claims.adopt(owned.inc_id, *grant, proof)):
                    return False
            except StoreError:
                self._adopting[grant] = lambda: self._go_on_with(owned, handle, go_on)
                raise
            self._go_on_with(owned, handle, go_on)
        return True

    def _go_on_with(self, owned: Owned, handle: AttemptHandle, go_on: Callable[[], None]) -> None:
        """It was adopted."""
        self._adopting.pop((owned.run_id, owned.token), None)
        going = self._take_on(owned.run_id, Going(owned.token, handle))
        go_on()
        if owned.cancel_requested:
            going.cancel()

    def of(self, run_id: str, token: int) -> Going:
        """Return what goes under a grant; one that is known no more, or has made room for a later one, by itself."""
        going = self.going.get(run_id)
        return going if going is not None and going.token == token else Going(token)

    def over(self, run_id: str, going: Going) -> None:
        """Its end is told. A later attempt of the same run, under another grant, goes on."""
        if self.going.get(run_id) is going:
            del self.going[run_id]

    def lose_all(self) -> None:
        """We were fenced: nothing is ours any more."""
        self._is_lost = True
        for going in self.going.values():
            going.lose()

    async def reconcile(self) -> None:
        """S8: give back what we know nothing of, end what is not ours any more. Leaves the doubt where it fails."""
        async with self._turn:
            try:
                owned = {(each.run_id, each.token): each for each in await self._ask(self.claims.owned)}
                for each in owned.values():
                    if not self._is_known(each):
                        await self._give_up(each)
                self._opened.keep(owned)
                for grant, go_on in list(self._adopting.items()):
                    if grant in owned:
                        go_on()
                        path = owned[grant].status_path
                        await asyncio.to_thread(take_over, path, self.claims)
                    elif grant not in self._opened:
                        del self._adopting[grant]
                self.doubt = False
            except StoreError:
                return
            taken = [each for each in self.going.items() if (each[0], each[1].token) not in owned]
        for run_id, going in taken:
            # One without a handle is being launched, and is stopped as soon as it is; or its end is being told.
            if going.handle is not None and not going.lost:
                log.warning("%s was taken from this scheduler: its attempt is ended", run_id)
            going.lose()

    def _take_on(self, run_id: str, going: Going) -> Going:
        """It is ours from now on; an earlier attempt of the same run that still goes here was taken from us."""
        before = self.going.get(run_id)
        self.going[run_id] = going
        if before is not None and not before.lost:
            log.warning("an earlier attempt of %s was taken from this scheduler", run_id)
            before.lose()
        if self._is_lost:
            going.lose()
        return going

    def _is_known(self, each: Owned) -> bool:
        is_held = each.run_id in self.claimed or each.run_id in self.going
        return is_held or (each.run_id, each.token) in self._opened

    async def _give_up(self, each: Owned) -> None:
        held = Held(each.run_id, each.token)
        if each.started:
            await self._ask(lambda: self.claims.abort_start(held))
        else:
            await self._ask(lambda: self.claims.hand_back([held]))

    async def _started(self) -> set[tuple[str, int]]:
        """Read back which starts were committed after all; waits for the store as long as our lease holds."""
        while self._heart.trusted:
            try:
                owned = await self._ask(self.claims.owned)
            except StoreError:
                await asyncio.sleep(DOUBT_S)
                continue
            return {(each.run_id, each.token) for each in owned if each.started}
        return set()

    async def _ask(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except StoreError:
            self.doubt = True
            raise
