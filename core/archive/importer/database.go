package importer

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // for databases of other programs
)

// Bounds of databases.
const (
	maxDatabase = 64 << 30 // bytes
	maxCell     = 16 << 20 // bytes of one value
)

// database is a copy of another program's database. The original is never written to:
// the program may be running, and its folder is not ours.
type database struct {
	*sql.DB
	name string
	dir  string
	have map[string]map[string]bool // the columns of tables, once checked
}

// openDatabase copies an archive's SQLite database with its write-ahead log. The caller closes it.
func openDatabase(a *Archive, name string) (*database, error) {
	dir, err := os.MkdirTemp("", "everthread-import-*")
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", name, err)
	}
	d := &database{name: name, dir: dir, have: map[string]map[string]bool{}}
	file := filepath.Join(dir, "copy.sqlite")
	err = a.copyTo(name, file)
	if wal := a.copyTo(name+"-wal", file+"-wal"); err == nil && !errors.Is(wal, fs.ErrNotExist) {
		err = wal
	}
	if err == nil {
		// Nothing in the file is executed: no view, no trigger, and no expression of its schema (constraints, generated
		// columns, defaults, indexes), however large their values would be.
		d.DB, err = sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()+
			"?_pragma=trusted_schema(0)&_pragma=ignore_check_constraints(1)&_pragma=cell_size_check(1)&_pragma=query_only(1)")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s: %w", name, err), os.RemoveAll(dir))
	}
	return d, nil
}

// Close closes and removes the copy.
func (d *database) Close() {
	if d.DB != nil {
		_ = d.DB.Close() // it was only read
	}
	_ = os.RemoveAll(d.dir)
}

// copyTo copies a file of the archive. fs.ErrNotExist: there is none of that name.
func (a *Archive) copyTo(name, file string) error {
	in, err := a.file(name, maxDatabase)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// damaged returns the error of a database that cannot be read.
func (d *database) damaged(err error) error {
	return fmt.Errorf("%s is damaged or cut off; stop the program that writes it, and copy it again (%w)", d.name, err)
}

// columns checks the integrity of a table and returns its columns, none if there is no
// such table. Views, virtual tables and generated columns do not count.
func (d *database) columns(table string) (map[string]bool, error) {
	if have, ok := d.have[table]; ok {
		return have, nil
	}
	have := map[string]bool{}
	var made string
	generated, state := 0, "ok"
	err := d.QueryRow(`SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?`, table).Scan(&made)
	if errors.Is(err, sql.ErrNoRows) || err == nil && strings.HasPrefix(strings.ToUpper(made), "CREATE VIRTUAL") {
		return have, nil
	}
	if err == nil {
		err = d.QueryRow(`SELECT COUNT(*) FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)`, table).Scan(&generated)
	}
	if err == nil && generated == 0 { // the check computes generated columns
		err = d.QueryRow(`PRAGMA quick_check("` + table + `")`).Scan(&state)
	}
	if err == nil && state != "ok" {
		err = errors.New(state)
	}
	if err != nil {
		return nil, d.damaged(err)
	}
	rows, err := d.Query(`SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		return nil, d.damaged(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, d.damaged(err)
		}
		have[name] = true
	}
	d.have[table] = have
	return have, rows.Err()
}

// row is a row of a table, as texts by their columns.
type row = map[string]string

// each calls f with the rows of a table that the clauses in rest select. Missing columns,
// NULLs and values that are too large are empty.
func (d *database) each(table string, wanted []string, rest string, args []any, f func(row) error) error {
	have, err := d.columns(table)
	if err != nil || len(have) == 0 {
		return err
	}
	list := make([]string, len(wanted))
	for n, c := range wanted {
		list[n] = `''`
		if have[c] {
			list[n] = fmt.Sprintf(`CASE WHEN octet_length("%s") <= %d THEN CAST("%s" AS TEXT) ELSE '' END`, c, maxCell, c)
		}
	}
	rows, err := d.Query(`SELECT `+strings.Join(list, ", ")+` FROM "`+table+`" `+rest, args...)
	if err != nil {
		return d.damaged(err)
	}
	defer rows.Close()
	values, into := make([]string, len(wanted)), make([]any, len(wanted))
	for n := range values {
		into[n] = &values[n]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return d.damaged(err)
		}
		r := make(row, len(wanted))
		for n, c := range wanted {
			r[c] = values[n]
		}
		if err := f(r); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return d.damaged(err)
	}
	return nil
}

// eachRow passes the rows of a table to f as if they were JSON objects without the empty columns; see each.
func eachRow[T any](d *database, table string, wanted []string, rest string, f func(T) error) error {
	return d.each(table, wanted, rest, nil, func(r row) error {
		maps.DeleteFunc(r, func(_, value string) bool { return value == "" })
		text, err := json.Marshal(r)
		var v T
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if err != nil {
			return fmt.Errorf("read a row of %s: %w", table, err)
		}
		return f(v)
	})
}
