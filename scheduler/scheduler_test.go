package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

func TestScheduler_runsAtTheStartAndAtItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var leads atomic.Bool
		leads.Store(true)
		var ran []time.Duration
		s := &Scheduler{Log: zap.NewNop(), Leads: leads.Load, Tasks: []Task{
			{Name: "fails", Spec: "*/10 * * * *", Run: func(context.Context) error {
				ran = append(ran, time.Since(begin))
				return errors.New("not this time")
			}},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(25 * time.Minute)
		leads.Store(false)
		time.Sleep(10 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if want := []time.Duration{0, 10 * time.Minute, 20 * time.Minute}; !slices.Equal(ran, want) {
			t.Errorf("got %v, want %v", ran, want)
		}
	})
}

func TestScheduler_skipsTimesOfARunningTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, ended := 0, 0
		s := &Scheduler{Log: zap.NewNop(), Leads: func() bool { return true }, Tasks: []Task{
			{Name: "slow", Spec: "* * * * *", Run: func(context.Context) error {
				runs++
				time.Sleep(150 * time.Second)
				ended++
				return nil
			}},
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Second)
		defer cancel()
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
		if runs != 2 || ended != 2 {
			t.Errorf("began %d times and ended %d times, want 2", runs, ended)
		}
	})
}

func TestScheduler_refusesAWrongTime(t *testing.T) {
	s := &Scheduler{Log: zap.NewNop(), Leads: func() bool { return true }, Tasks: []Task{{Name: "odd", Spec: "99 * * * *"}}}
	if err := s.Run(t.Context()); err == nil {
		t.Error("a time that does not exist was accepted")
	}
}
