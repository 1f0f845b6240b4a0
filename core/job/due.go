package job

import "context"

// dueBatch is the number of due objects that one list requests.
const dueBatch = 100

// EachDue calls do once for everything that is due. List returns at most limit due objects,
// the oldest first, without those that are done. One that fails is left to the next call and
// does not block the others. EachDue returns the error of list, or of an ended context.
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
