package sqlite_test

import (
	"testing"

	"github.com/everthread/everthread/core/store/sqlite/sqlitetest"
	"github.com/everthread/everthread/core/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Test(t, database, 1)
}

// database returns a function that opens stores on a database that is removed with the test.
func database(t testing.TB) func() storetest.Store {
	dir := t.TempDir()
	return func() storetest.Store { return sqlitetest.Open(t, dir) }
}
