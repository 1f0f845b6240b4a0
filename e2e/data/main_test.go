//go:build e2e

package data

import (
	"testing"

	"github.com/everthread/everthread/e2e/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
