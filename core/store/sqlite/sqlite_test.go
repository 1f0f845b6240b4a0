package sqlite

import (
	"testing"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) core.Store {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	})
}
