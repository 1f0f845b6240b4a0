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
	t.Run("alone", func(t *testing.T) { storetest.Road(t, database, trips(t, 2)) })
	// An earlier job of the summary is looked for.
	t.Run("with a summary due", func(t *testing.T) { storetest.Due(t, database, trips(t, 3)) })
	t.Run("in a rush", func(t *testing.T) { storetest.Rush(t, database, analyzer(t), trips(t, 2)) })
}

// trips returns a function that counts the round trips of a step, with a limit for Commit.
func trips(t *testing.T, commit int64) func(s storetest.Store, step string, run func()) {
	most := map[string]int64{"Append": 2, "Commit": commit, "FinishPart": 2}
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

func TestUsers_together(t *testing.T) {
	t.Parallel()
	server(t)
	storetest.TestUsersTogether(t, database)
}
