package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
)

// server is a database whose clock is read with a delay.
type server struct {
	now    time.Time
	delays []time.Duration // of the next readings
	err    error
}

func (s *server) Clock(context.Context) (time.Time, error) {
	if s.err != nil {
		return time.Time{}, s.err
	}
	if len(s.delays) > 0 {
		s.now, s.delays = s.now.Add(s.delays[0]), s.delays[1:]
	}
	return s.now, nil
}

func TestClock_isPutRightByTheDatabase(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	machine := at.Add(time.Hour) // an hour ahead
	db := &server{now: at}
	moved := 24 * time.Hour
	c := NewClock(func() time.Time { return machine.Add(moved) }, func() time.Time { return machine }, db, zap.NewNop())
	if err := c.Measure(t.Context()); err != nil || !c.Known() {
		t.Fatal(err, c.Known())
	}
	if !c.Wall().Equal(at) || !c.Now().Equal(at.Add(moved)) || c.Off() != -time.Hour {
		t.Errorf("got %s, off by %s, clock for work %s", c.Wall(), c.Off(), c.Now())
	}
	db.now = at.Add(5 * time.Millisecond)
	if err := c.Measure(t.Context()); err != nil || c.Off() != -time.Hour {
		t.Errorf("5 ms moved it to %s, %v", c.Off(), err)
	}
	db.delays = []time.Duration{0, 3 * time.Second, 3 * time.Second}
	if err := c.Measure(t.Context()); err != nil || c.Known() {
		t.Errorf("readings 6 s apart: known %t, %v", c.Known(), err)
	}
	if err := c.Measure(t.Context()); err != nil || !c.Known() {
		t.Errorf("steady readings: known %t, %v", c.Known(), err)
	}
	db.err = errors.New("away")
	if off := c.Off(); c.Measure(t.Context()) == nil || c.Off() != off {
		t.Errorf("while the database is away: off by %s", c.Off())
	}
}
