"""Named events, as state machines take them; see `pypepper.event.event`."""
