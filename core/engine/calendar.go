package engine

import (
	"errors"
	"time"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/day"
)

// NewCalendar returns the calendar of the configured hours.
func NewCalendar(c configs.Config) (day.Calendar, error) {
	var cal day.Calendar
	var errs [4]error
	cal.Zone, errs[0] = time.LoadLocation(c.DefaultTimezone)
	cal.Starts, errs[1] = day.Clock(c.Day.StartsAt)
	cal.Finalize, errs[2] = day.Clock(c.Summaries.FinalizeAt)
	cal.Post, errs[3] = day.Clock(c.Summaries.PostAt)
	return cal, errors.Join(errs[:]...)
}
