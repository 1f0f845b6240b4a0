package postgres_test

import (
	"testing"

	"github.com/everthread/everthread/core/store/storetest"
)

// TestTripsOfATurn bounds the round trips of each step of a turn: what is known is not queried, and
// writes are sent together.
func TestTripsOfATurn(t *testing.T) {
	t.Parallel()
	server(t)
	t.Run("alone", func(t *testing.T) { storetest.Road(t, database, trips(t)) })
	t.Run("in a rush", func(t *testing.T) { storetest.Rush(t, database, analyzer(t), trips(t)) })
}

// trips returns a function that counts the round trips of a step.
func trips(t *testing.T) func(s storetest.Store, step string, run func()) {
	most := map[string]int64{"Append": 2, "Commit": 1, "FinishPart": 1}
	return func(s storetest.Store, step string, run func()) {
		before := s.(interface{ Trips() int64 }).Trips()
		run()
		trips := s.(interface{ Trips() int64 }).Trips() - before
		t.Logf("%s takes %d round trips", step, trips)
		if trips > most[step] || trips == 0 {
			t.Errorf("%s takes %d round trips, want at most %d", step, trips, most[step])
		}
	}
}

func TestUsersTogether(t *testing.T) {
	t.Parallel()
	server(t)
	storetest.TestUsersTogether(t, database)
}
