package sqlite_test

import (
	"os"
	"testing"

	"github.com/everthread/everthread/core/recall"
	"github.com/everthread/everthread/core/store/sqlite"
	"github.com/everthread/everthread/core/store/storetest"
)

func kept(name string) storetest.Open {
	return func(t testing.TB) func() storetest.Store {
		dir := "/tmp/scale/sqlite-" + name
		os.MkdirAll(dir, 0o700)
		return func() storetest.Store {
			s, err := sqlite.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
}

func zz() storetest.Searches {
	a, err := recall.NewAnalyzer(nil)
	if err != nil {
		panic(err)
	}
	return storetest.Searches{Analyzer: a, Terms: func(q string) (terms []string) {
		for _, w := range a.Query(q).Words {
			terms = append(terms, w.Terms...)
		}
		return terms
	}}
}

func BenchmarkZZ(b *testing.B) {
	s := zz()
	s.Mine = 10_000
	b.Run("small", func(b *testing.B) { storetest.BenchSearch(b, kept("small"), s) })
	s.Users, s.Each = 10_000, 100
	b.Run("among", func(b *testing.B) { storetest.BenchSearch(b, kept("among"), s) })
	s.Mine, s.Users = 1_000_000, 0
	b.Run("million", func(b *testing.B) { storetest.BenchSearch(b, kept("million"), s) })
}
