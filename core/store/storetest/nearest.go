package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
)

// latent is the number of directions in which the vectors of a cloud differ.
const latent = 64

// cloud makes up vectors that resemble embeddings of texts: a common offset from zero, few
// directions, clusters around topics, and some noise.
type cloud struct {
	r      *rand.Rand
	mean   []float32
	axes   [][]float32
	topics [][]float32
}

func newCloud() *cloud {
	c := &cloud{r: rand.New(rand.NewPCG(1, 2))}
	c.mean = c.noise(core.VectorSize, 3)
	for i := range latent {
		c.axes = append(c.axes, c.noise(core.VectorSize, 1/math.Sqrt(1+float64(i)/8)))
	}
	for range 60 {
		c.topics = append(c.topics, c.noise(latent, 1))
	}
	return c
}

func (c *cloud) noise(n int, size float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(size * c.r.NormFloat64())
	}
	return v
}

// vector returns a vector near one of the topics, some of which are more frequent.
func (c *cloud) vector() []float32 {
	v := c.noise(core.VectorSize, 1)
	at := c.noise(latent, 0.7)
	for i, x := range c.topics[int(60*c.r.Float64()*c.r.Float64())] {
		for j, a := range c.axes[i] {
			v[j] += (at[i] + x) * a
		}
	}
	length := 0.0
	for j := range v {
		v[j] += c.mean[j]
		length += float64(v[j]) * float64(v[j])
	}
	for j := range v {
		v[j] /= float32(math.Sqrt(length))
	}
	return v
}

// BenchNearest measures the search among n vectors of a user, and its recall of the 20 nearest.
func BenchNearest(b *testing.B, open Open, n int) {
	w := &bench{open: open(b), t: b, ctx: b.Context(), now: start()}
	w.Store = w.open()
	c := newCloud()
	vectors := make([][]float32, n)
	for i := range vectors {
		vectors[i] = c.vector()
	}
	if _, err := w.User(w.ctx, searcher); errors.Is(err, core.ErrNotFound) {
		w.putCloud(vectors)
	}
	const k = 50 // as many as a search requests
	found, asked := 0, 0
	w.times(b, 300, func(int) time.Duration {
		v := c.vector()
		from := time.Now()
		got, err := w.Nearest(w.ctx, store.NearestQuery{User: searcher, Kind: core.VectorWindow,
			Config: config, Vector: v, K: k})
		took := time.Since(from)
		if w.must(err); len(got) != min(k, n) {
			b.Fatalf("got %d neighbours", len(got))
		}
		for _, id := range nearest(vectors, v, 20) {
			asked++
			if slices.ContainsFunc(got[:min(20, n)], func(x store.Neighbour) bool { return x.ID == id }) {
				found++
			}
		}
		return took
	})
	b.ReportMetric(float64(found)/float64(asked), "recall@20")
}

// nearest returns the ids of the k nearest vectors; all vectors have length 1.
func nearest(all [][]float32, v []float32, k int) []int64 {
	type scored struct {
		id  int64
		dot float32
	}
	scores := make([]scored, len(all))
	for i, other := range all {
		dot := float32(0)
		for j, x := range other {
			dot += x * v[j]
		}
		scores[i] = scored{int64(i + 1), dot}
	}
	slices.SortFunc(scores, func(a, b scored) int {
		if a.dot > b.dot {
			return -1
		}
		return 1
	})
	ids := make([]int64, min(k, len(all)))
	for i := range ids {
		ids[i] = scores[i].id
	}
	return ids
}

// putCloud stores vectors for the searcher, with ids from 1.
func (b *bench) putCloud(vectors [][]float32) {
	b.exec(`INSERT INTO users (id, name, role, created_at) VALUES ($1, 'talker', 'member', 0)`, searcher)
	b.exec(`INSERT INTO embeddings (user_id, kind, id, config, state, updated_at) ` + fillRange(searcher,
		searcher, len(vectors)) +
		fmt.Sprintf(` SELECT u.i, 'window', k.i, '%s', 'pending', 0 FROM u CROSS JOIN k`, config))
	begin := time.Now()
	var page []store.EmbeddingResult
	for i, v := range vectors {
		page = append(page, store.EmbeddingResult{Kind: core.VectorWindow, ID: int64(i + 1), Vector: v})
		if len(page) == 100 || i == len(vectors)-1 {
			b.must(b.PutVectors(b.ctx, searcher, config, page, b.now))
			page = nil
		}
	}
	b.t.Logf("%d vectors stored in %v", len(vectors), time.Since(begin))
	if _, err := b.DB().Exec(`SELECT sqlite_version()`); err != nil {
		b.exec(`VACUUM ANALYZE embeddings`)
	}
}
