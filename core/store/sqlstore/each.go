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

// addTo appends the rows of a query to out.
func addTo[T any](out *[]T, q reader, scan func(scanner) (T, error), query string, args ...any) error {
	got, err := list(q, scan, query, args...)
	*out = append(*out, got...)
	return err
}
