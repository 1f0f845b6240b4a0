package remind

import (
	"fmt"

	"github.com/everthread/everthread/core"
)

// fault is what is wrong with what somebody wants, in plain words of their
// language. It is core.ErrRefused.
type fault string

// Error returns the words.
func (f fault) Error() string { return string(f) }

// Is makes every fault a core.ErrRefused.
func (f fault) Is(target error) bool { return target == core.ErrRefused }

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }
