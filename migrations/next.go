//go:build !nextversion

package migrations

import "io/fs"

// withNext returns the released migrations unchanged: only test builds include those of a future version.
func withNext(released fs.FS, _ string) fs.FS { return released }
