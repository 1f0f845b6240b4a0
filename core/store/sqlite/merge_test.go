package sqlite_test

import (
	"os"
	"testing"

	"github.com/everthread/everthread/core/store/storetest"
	"github.com/everthread/everthread/internal/fulltest"
)

// TestMergeSpeed merges large users only if EVERTHREAD_TEST_MILLION is set.
func TestMergeSpeed(t *testing.T) {
	n := fulltest.Size(300, 2_000)
	if os.Getenv("EVERTHREAD_TEST_MILLION") != "" {
		n = 100_000
	}
	storetest.TestMergeSpeed(t, database, n)
}
