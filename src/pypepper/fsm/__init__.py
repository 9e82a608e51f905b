"""A small state machine driven by events; see `pypepper.fsm.fsm`."""
