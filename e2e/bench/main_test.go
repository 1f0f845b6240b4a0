//go:build e2e && bench

package bench

import (
	"os"
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("EVERTHREAD_DATABASE_CONNECTIONS", "16") // as by default
	e2etest.Main(m)
}
