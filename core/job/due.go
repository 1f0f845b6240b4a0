package job

import "context"

// dueBatch is how many one look at what is due takes.
const dueBatch = 100

// EachDue does everything that is due, once each: list returns at most limit, the oldest
// first, and what was done is not among them any more. One that fails is left to the next
// call and holds up no other. It returns the error of list, or of a context that ended.
func EachDue[T any, K comparable](ctx context.Context, list func(limit int) ([]T, error), key func(T) K,
	do func(T) error) error {
	tried, failed := map[K]bool{}, 0
	for {
		due, err := list(dueBatch + failed)
		if err != nil {
			return err
		}
		before := len(tried)
		for _, t := range due {
			k := key(t)
			if tried[k] {
				continue
			}
			tried[k] = true
			err := do(t)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				failed++
			}
		}
		if len(tried) == before || len(due) < dueBatch {
			return nil
		}
	}
}
