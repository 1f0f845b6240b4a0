package postgres_test

import (
	"context"
	"github.com/jackc/pgx/v5"
	"os"
	"strings"
	"testing"

	"github.com/everthread/everthread/core/recall"
	"github.com/everthread/everthread/core/store/storetest"
)

func kept(name string) storetest.Open {
	return func(t testing.TB) func() storetest.Store {
		name := "zz_" + name
		dsn := os.Getenv("DSN")
		if dsn == "" {
			t.Skip()
		}
		c, err := pgx.Connect(context.Background(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		c.Exec(context.Background(), "CREATE SCHEMA IF NOT EXISTS "+name)
		c.Close(context.Background())
		if strings.Contains(dsn, "?") {
			dsn += "&"
		}
		return func() storetest.Store { return opened(t, dsn+"search_path="+name+",public") }
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
