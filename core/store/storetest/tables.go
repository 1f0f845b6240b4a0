package storetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/store/sqlstore"
)

func tableCases() []testCase {
	return []testCase{
		{"every table and every column of the schema is classified", testClassified},
		{"the keys of users' rows begin with the user", testLedByUsers},
		{"a redacted message leaves no word in rows that refer to it", testForgotten},
		{"a text is traced in every column of words, and a deleted account leaves no row", testEveryColumn},
	}
}

// column is a column of the schema as described by the database.
type column struct{ table, name, kind string }

// unclassified matches the tables of indexes and of the schema's own tools.
var unclassified = regexp.MustCompile(`^(message|summary|item|file)_terms|^(window|item|file)_vectors|^goose_|^sqlite_`)

// schema reads the columns of all tables from the database itself.
func (b *bench) schema() []column {
	b.t.Helper()
	rows, err := b.DB().Query(
		`SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, ordinal_position`)
	if err != nil {
		rows, err = b.DB().Query(
			`SELECT m.name, p.name, p.type FROM sqlite_schema m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' ORDER BY 1, p.cid`)
	}
	b.must(err)
	defer rows.Close()
	var out []column
	for rows.Next() {
		var c column
		b.must(rows.Scan(&c.table, &c.name, &c.kind))
		if !unclassified.MatchString(c.table) {
			out = append(out, c)
		}
	}
	b.must(rows.Err())
	return out
}

// text reports whether a column can hold words.
func (c column) text() bool {
	return slices.Contains([]string{"text", "blob", "bytea", "array", "json", "jsonb"}, strings.ToLower(c.kind))
}

// names reports whether a column is named like a reference to a row.
func (c column) names() bool { return strings.HasSuffix(c.name, "_id") && c.name != "last_id" }

func testClassified(b *bench) {
	classified := map[string]sqlstore.Table{}
	for _, t := range sqlstore.Tables() {
		classified[t.Name] = t
	}
	there := map[string]bool{}
	for _, c := range b.schema() {
		there[c.table], there[c.table+"."+c.name] = true, true
		t, known := classified[c.table]
		_, refers := t.Refs[c.name]
		refers = refers || slices.Contains(t.Loose, c.name)
		text := slices.Contains(slices.Concat(t.Words, t.Sealed, t.Plain), c.name)
		switch {
		case !known:
			b.t.Errorf("the table %s is in the schema but not in sqlstore.Tables", c.table)
		case t.Owner == "" && c.name == "user_id":
			b.t.Errorf("%s has rows of users but names no owner", c.table)
		case c.text() && !text:
			b.t.Errorf("%s.%s is %s, and not classified as holding users' words or not", c.table, c.name, c.kind)
		case !text && !refers && c.names() && c.name != t.Owner:
			b.t.Errorf("%s.%s names a row, but Refs does not say of which table", c.table, c.name)
		case t.Merge == sqlstore.MergeShifted && !text && !refers && c.name != t.Owner && c.name != "id" &&
			!slices.Contains(t.Numbers, c.name):
			b.t.Errorf("%s.%s would be lost in a merge: a shifted table must list all columns", c.table, c.name)
		}
	}
	for _, t := range sqlstore.Tables() {
		names := slices.Concat(t.Words, t.Sealed, t.Plain, t.Loose)
		for name := range t.Refs {
			names = append(names, name)
		}
		for _, name := range append(names, t.Owner, t.Row) {
			if name != "" && !there[t.Name+"."+name] {
				b.t.Errorf("%s.%s is classified but not in the schema", t.Name, name)
			}
		}
		if !there[t.Name] {
			b.t.Errorf("%s is classified but not in the schema", t.Name)
		}
		if (t.Owner == "") != (t.Merge == "") {
			b.t.Errorf("%s: its rule for merges is %q", t.Name, t.Merge)
		}
		if (len(t.Words) == 0) != (t.Forget == "") {
			b.t.Errorf("%s: its rule for forgotten messages is %q", t.Name, t.Forget)
		}
		if (len(t.Words) == 0) != (t.Export == "") {
			b.t.Errorf("%s: its place in an export is %q", t.Name, t.Export)
		}
		for column, of := range t.Refs {
			if t.Merge == sqlstore.MergeShifted && of == "segments" {
				b.t.Errorf("%s.%s names one of %s, whose ids a merge does not just shift: it needs its own copying",
					t.Name, column, of)
			}
		}
	}
}

// fillRow stores a row of a table with a distinct word in every text column. Message ids are
// message, all other numbers are 7.
func (b *bench) fillRow(t sqlstore.Table, columns []column, user core.UserID, message core.MessageID) {
	b.t.Helper()
	var names, values []string
	for _, c := range columns {
		var value string
		switch {
		case c.name == t.Owner:
			value = fmt.Sprint(user)
		case c.name == "message_id":
			value = fmt.Sprint(message)
		case c.kind == "bytea":
			value = `'\x` + fmt.Sprintf("%x", "a heffalump") + `'`
		case c.text():
			value = "'a heffalump'"
		case c.kind == "bigint":
			value = "7"
		default: // a vector
			continue
		}
		names, values = append(names, c.name), append(values, value)
	}
	_, err := b.DB().Exec(`INSERT INTO ` + t.Name + ` (` + strings.Join(names, ", ") + `) VALUES (` +
		strings.Join(values, ", ") + `)`)
	b.must(err)
}

// columns returns the columns of each table.
func (b *bench) columns() map[string][]column {
	b.t.Helper()
	out := map[string][]column{}
	for _, c := range b.schema() {
		out[c.table] = append(out[c.table], c)
	}
	return out
}

// testForgotten writes a row that names a message into every table with a rule for forgotten
// messages.
func testForgotten(b *bench) {
	u, i := b.person("Grace", core.RoleMember, "4713")
	g := b.as(u, i)
	m := g.turn("a heffalump").Inputs[0]
	columns := b.columns()
	for _, t := range sqlstore.Tables() {
		if t.Forget == sqlstore.ForgetRows || t.Forget == sqlstore.ForgetWords {
			b.fillRow(t, columns[t.Name], u.ID, m)
		}
	}
	g.effects(effect.Redact{Message: m, At: g.now})
	traces, err := b.Traces(b.ctx, u.ID, "heffalump")
	b.must(err)
	traces = slices.DeleteFunc(traces, func(t store.Trace) bool {
		return strings.HasPrefix(t.Where,
			"file ")
	}) // scrubbed later
	if len(traces) > 0 {
		b.t.Errorf("traces of a forgotten message: %v", traces)
	}
	_, err = b.DeleteUser(b.ctx, u.ID)
	b.must(err)
}

// testLedByUsers reads the first column of every unique index.
func testLedByUsers(b *bench) {
	rows, err := b.DB().Query(`SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
		JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] WHERE i.indisunique`)
	if err != nil {
		rows, err = b.DB().Query(
			`SELECT m.name, x.name FROM sqlite_schema m JOIN pragma_index_list(m.name) l JOIN pragma_index_info(l.name) x
			WHERE m.type = 'table' AND l."unique" = 1 AND x.seqno = 0`)
	}
	b.must(err)
	defer rows.Close()
	first := map[string][]string{}
	for rows.Next() {
		var table, column string
		b.must(rows.Scan(&table, &column))
		first[table] = append(first[table], column)
	}
	b.must(rows.Err())
	for _, t := range sqlstore.Tables() {
		if t.Owner == "" || t.Shared {
			continue
		}
		if len(first[t.Name]) == 0 {
			b.t.Errorf("%s has no key", t.Name)
		}
		for _, column := range first[t.Name] {
			if column != t.Owner {
				b.t.Errorf("a key of %s begins with %s", t.Name, column)
			}
		}
	}
}

// testEveryColumn writes a row with distinct words into every table of a user.
func testEveryColumn(b *bench) {
	u := one(b, b.AddUser, core.User{Name: "Grace", Role: core.RoleMember, CreatedAt: b.now})
	columns := b.columns()
	want := map[string]bool{}
	for _, t := range sqlstore.Tables() {
		if t.Owner == "" || t.Name == "threads" { // a user has a thread already
			continue
		}
		b.fillRow(t, columns[t.Name], u.ID, 7)
		for _, word := range t.Words {
			want[t.Name+"."+word] = true
		}
	}
	traces, err := b.Traces(b.ctx, u.ID, "Heffalump")
	b.must(err)
	for _, t := range traces {
		delete(want, t.Where)
	}
	for where := range want {
		b.t.Errorf("%s is not among the traces", where)
	}
	_, err = b.DeleteUser(b.ctx, u.ID)
	b.must(err)
	for table, all := range columns {
		if !slices.ContainsFunc(all, func(c column) bool { return c.name == "user_id" }) {
			continue
		}
		var n int
		b.must(b.DB().QueryRow(`SELECT COUNT(*) FROM `+table+` WHERE user_id = $1`, u.ID).Scan(&n))
		equal(b, "rows left in "+table, n, 0)
	}
}
