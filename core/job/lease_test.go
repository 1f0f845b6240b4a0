package job_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/store"
)

// register stores the memberships of processes, as a database does.
type register struct {
	mu    sync.Mutex
	until map[string]time.Time // of processes that only finish their work
	done  map[string]time.Time // of those that finish it
	away  bool
	subs  map[string]chan string
	freed []string
}

// seat is the register as seen by one process.
type seat struct {
	*register
	name string
}

func (s seat) Join(_ context.Context, m store.Membership) (live []string, freed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, 0, errors.New("the database is away")
	}
	delete(s.until, m.Worker)
	delete(s.done, m.Worker)
	own := s.until
	if m.Leaving {
		own = s.done
	}
	own[m.Worker] = m.Until
	for _, list := range []map[string]time.Time{s.until, s.done} {
		for name, until := range list {
			if !until.After(m.Now) {
				delete(list, name)
				s.freed = append(s.freed, name)
				freed++
			}
		}
	}
	for name := range s.until {
		live = append(live, name)
	}
	slices.Sort(live)
	return live, freed, nil
}

func (s seat) Leave(_ context.Context, worker string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, worker)
	delete(s.done, worker)
	return nil
}

func (s seat) Tell(string) {}

func (s seat) Publish(_ context.Context, topic string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.subs {
		ch <- topic
	}
	return nil
}

func (s seat) Wakes(context.Context) <-chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs[s.name] = make(chan string, 100)
	return s.subs[s.name]
}

// process is a running process.
type process struct {
	*job.Members
	leave context.CancelFunc // it only finishes what it began
	end   context.CancelFunc
	ended chan struct{}
}

func (r *register) start(t *testing.T, name string) *process {
	p := &process{Members: &job.Members{Store: seat{r, name}, Worker: name, Now: time.Now, Log: zap.NewNop(),
		Known: func() bool { return true }}, ended: make(chan struct{})}
	ctx, end := context.WithCancel(t.Context())
	leaving, leave := context.WithCancel(t.Context())
	p.leave, p.end = leave, end
	go func() { defer close(p.ended); p.Run(ctx, leaving) }()
	synctest.Wait()
	return p
}

func newRegister() *register {
	return &register{until: map[string]time.Time{}, done: map[string]time.Time{}, subs: map[string]chan string{}}
}

func shareOf(p *process) [2]int { s := p.Share(); return [2]int{s.N, s.Of} }

func TestShare_dividesUsersAmongProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegister()
		a, b := r.start(t, "a"), r.start(t, "b")
		c := r.start(t, "c")
		for i, p := range []*process{a, b, c} { // at once, without waiting for a tick
			if got := shareOf(p); got != [2]int{i, 3} {
				t.Errorf("process %d: got share %v, want its own of 3", i, got)
			}
		}
		for user := core.UserID(1); user < 20; user++ {
			n := 0
			for _, p := range []*process{a, b, c} {
				if p.Share().Mine(user) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("user %d is in the share of %d processes", user, n)
			}
		}
		b.leave()
		synctest.Wait()
		if a, b, c := shareOf(a), shareOf(b), shareOf(c); a != [2]int{0, 2} || b[0] != -1 || c != [2]int{1, 2} {
			t.Errorf("while b leaves: got shares %v, %v, %v", a, b, c)
		}
		for _, p := range []*process{a, b, c} {
			p.end()
			<-p.ended
		}
		if len(r.until)+len(r.done)+len(r.freed) > 0 {
			t.Errorf("after all have left: until %v, done %v, freed %v", r.until, r.done, r.freed)
		}
	})
}

func TestMembers_noticeADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegister()
		a := r.start(t, "a")
		if _, _, err := (seat{r, "dead"}).Join(t.Context(), store.Membership{Worker: "dead", Now: time.Now(),
			Until: time.Now().Add(8 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // fake time: a's next tick
		if got := shareOf(a); got[1] != 2 {
			t.Errorf("before the membership ends: got share %v", got)
		}
		time.Sleep(8 * time.Second) // fake time: the membership ends
		if got := shareOf(a); got != [2]int{0, 1} || !slices.Equal(r.freed, []string{"dead"}) {
			t.Errorf("11 s after joining: got share %v, freed %v", got, r.freed)
		}
		r.mu.Lock()
		r.away = true
		r.mu.Unlock()
		time.Sleep(time.Minute) // fake time: the database is away
		if got := shareOf(a); got != [2]int{0, 1} {
			t.Errorf("without the database: got share %v", got)
		}
		a.end()
		<-a.ended
	})
}

func TestShare_nothingWithoutTheTime(t *testing.T) {
	m := &job.Members{Known: func() bool { return false }}
	if s := m.Share(); s.Mine(1) || s.N >= 0 || s.Grace < 1000*time.Hour {
		t.Errorf("got share %+v", s)
	}
}
