package sqlstore

import "iter"

// until yields the values of a list as long as *err is nil. The body of the loop sets it.
func until[T any](err *error, values []T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, v := range values {
			if *err != nil || !yield(v) {
				return
			}
		}
	}
}

// fields returns a function that scans a row into the fields that dest lists.
func fields[T any](dest func(v *T) []any) func(scanner) (T, error) {
	return func(r scanner) (v T, err error) {
		err = r.Scan(dest(&v)...)
		return v, err
	}
}
