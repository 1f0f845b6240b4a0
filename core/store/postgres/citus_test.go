//go:build citus

package postgres_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/storetest"
)

// citus returns the URL of the Citus coordinator to test with.
func citus(t testing.TB) string {
	dsn := os.Getenv("TEST_CITUS_DSN")
	if dsn == "" {
		t.Fatal("TEST_CITUS_DSN is not set; `make citus CITUS_SOURCE=DIR` starts a Citus")
	}
	return dsn + "&citus.shard_count=4&citus.enable_unsafe_triggers=on"
}

// scattered returns a function that opens stores on a migrated, empty schema, distributed by user.
func scattered(t testing.TB) func() storetest.Store { return databaseOf(t, &spread, citus(t)) }

func TestCitusContract(t *testing.T) {
	t.Parallel()
	storetest.TestSpread(t, scattered)
}

func TestCitusTurnOnOneServer(t *testing.T) {
	t.Parallel()
	s := spread.take(t, citus(t))
	storetest.TestTurnOnOneServer(t, func(t testing.TB) func() storetest.Store {
		return func() storetest.Store { return beside{opened(t, s.through(t, citus(t))), s.db} }
	}, func(t testing.TB) storetest.Store {
		return beside{opened(t, s.through(t, citus(t))+"&citus.multi_task_query_log_level=error"), s.db}
	})
}

func TestDistribute_citusHalfDistributed(t *testing.T) {
	t.Parallel()
	s := spread.take(t, citus(t))
	o := opened(t, s.through(t, citus(t)))
	if _, err := s.db.Exec(`SELECT undistribute_table('loops')`); err != nil {
		t.Fatal(err)
	}
	if err := o.Migrate(t.Context()); !errors.Is(err, core.ErrHalfDistributed) {
		t.Errorf("got %v, want ErrHalfDistributed", err)
	}
	if _, astray, err := o.Distributed(t.Context()); err != nil || !slices.Equal(astray, []string{"loops"}) {
		t.Errorf("got %v, %v, want loops", astray, err)
	}
	for range 2 { // it is harmless to repeat
		if err := o.Distribute(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if yes, astray, err := o.Distributed(t.Context()); err != nil || !yes || len(astray) > 0 {
		t.Errorf("got %v, %v, %v, want it distributed", yes, astray, err)
	}
	if err := o.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}
