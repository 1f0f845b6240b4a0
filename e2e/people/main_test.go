//go:build e2e

package people

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
