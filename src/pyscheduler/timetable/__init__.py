"""WHEN: from cron text and calendars to firings. Pure: no clock, no IO but the zone data of the tzdata package."""

from pyscheduler.timetable.calendars import ALL_DAYS, BusinessCalendar
from pyscheduler.timetable.firings import Timetable, default_run_date
from pyscheduler.timetable.forecast import ForecastEntry, forecast
from pyscheduler.timetable.mistakes import ScheduleError, UnknownZone
from pyscheduler.timetable.schedule import Schedule, check_can_fire, compile_schedule, spec_from_text
from pyscheduler.timetable.zone import TZDATA_VERSION, Zone, zone

__all__ = [
    "ALL_DAYS",
    "TZDATA_VERSION",
    "BusinessCalendar",
    "ForecastEntry",
    "Schedule",
    "ScheduleError",
    "Timetable",
    "UnknownZone",
    "Zone",
    "check_can_fire",
    "compile_schedule",
    "default_run_date",
    "forecast",
    "spec_from_text",
    "zone",
]
