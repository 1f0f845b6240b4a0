package postgres_test

import (
	"errors"
	"testing"

	"github.com/everthread/everthread/core"
)

func TestDistribute_notCitus(t *testing.T) {
	t.Parallel()
	o := opened(t, migrated.take(t, server(t)).through(t, server(t)))
	if err := o.Distribute(t.Context()); !errors.Is(err, core.ErrNotCitus) {
		t.Errorf("got %v, want ErrNotCitus", err)
	}
	if yes, astray, err := o.Distributed(t.Context()); err != nil || yes || len(astray) > 0 {
		t.Errorf("got %v, %v, %v, want nothing distributed", yes, astray, err)
	}
}
