package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
)

// Intervals and bounds of messages between processes.
const (
	renewEvery  = 20 * time.Second       // between announcements of users followed here
	followedFor = 50 * time.Second       // after the last announcement
	learning    = 2 * time.Second        // for the answers of other processes
	tellEvery   = 100 * time.Millisecond // between previews of one answer
	tellTime    = 5 * time.Second        // timeout of a message
	maxText     = 6000                   // bytes of a preview, before it is quoted
)

// Topics between processes, each followed by its arguments.
const (
	topicAsked    = "live-asked:"    // WORKER:0, requests announcements
	topicFollowed = "live-followed:" // WORKER:USER
	topicChanged  = "live-changed:"  // WORKER:USER
	topicPreview  = "live-preview:"  // WORKER:USER:JSON
)

type previewID struct {
	user core.UserID
	turn core.TurnID
}

// Run passes news on until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	h.learn()
	group, ctx := errgroup.WithContext(ctx)
	// Subscribe before asking, so that no answer is lost.
	changes, wakes := h.bus.Changed(ctx), h.bus.Wakes(ctx)
	for _, f := range h.all() { // earlier changes were lost
		f.change()
	}
	group.Go(func() error {
		for user := range changes {
			h.changed(user)
		}
		return nil
	})
	group.Go(func() error {
		for topic := range wakes {
			h.heard(topic)
		}
		return nil
	})
	group.Go(func() error { h.renew(ctx); return nil })
	group.Go(func() error { h.ask(ctx); return nil })
	return group.Wait()
}

// changed passes on that this process wrote rows of a user, to the other processes also while
// they have not answered yet, and after the end of Run's context: a short chat ends before.
func (h *Hub) changed(user core.UserID) {
	for _, f := range h.followers(user) {
		f.change()
	}
	if h.isAfar(user) || h.learns() {
		h.publish(context.Background(), topicChanged, user, "")
	}
}

func (h *Hub) learns() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now().Before(h.knows)
}

// Followed reports whether somebody follows a user, in this process or another.
func (h *Hub) Followed(user core.UserID) bool { return len(h.followers(user)) > 0 || h.isAfar(user) }

// Preview passes on the whole answer of a turn so far. It is cheap while nobody follows the user.
func (h *Hub) Preview(t *core.Turn, text string) {
	p := Preview{Turn: t.ID, Thread: t.Thread, Text: text}
	for _, f := range h.followers(t.User) {
		f.preview(p)
	}
	if !h.isAfar(t.User) || !h.mayTell(previewID{t.User, t.ID}) {
		return
	}
	if len(text) > maxText {
		p.Missing = len(text) - maxText
		p.Text = strings.ToValidUTF8(text[p.Missing:], "")
	}
	b, err := json.Marshal(p)
	if err != nil || len(b) > 6900 { // control characters grow when they are quoted
		return
	}
	h.publish(context.Background(), topicPreview, t.User, ":"+string(b))
}

// mayTell bounds the rate of previews of one answer to other processes.
func (h *Hub) mayTell(id previewID) bool {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.told[id]) < tellEvery {
		return false
	}
	h.told[id] = now
	return true
}

func (h *Hub) isAfar(user core.UserID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.afar[user].After(h.now())
}

// ask asks other processes which users are followed there: at the start, and whenever this
// process listens again after it may have missed announcements.
func (h *Hub) ask(ctx context.Context) {
	for {
		h.publish(ctx, topicAsked, 0, "")
		select {
		case <-ctx.Done():
			return
		case <-h.listens:
			h.learn()
		}
	}
}

// learn begins the time in which this process does not know yet who is followed elsewhere.
func (h *Hub) learn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.knows = h.now().Add(learning)
}

// renew announces regularly which users are followed here.
func (h *Hub) renew(ctx context.Context) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.asked:
		case <-t.C:
		}
		for _, user := range h.followed() {
			h.announce(user)
		}
	}
}

// followed returns the users followed here, and forgets old announcements and previews.
func (h *Hub) followed() []core.UserID {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.afar, func(_ core.UserID, until time.Time) bool { return until.Before(now) })
	maps.DeleteFunc(h.told, func(_ previewID, at time.Time) bool { return now.Sub(at) > followedFor })
	return slices.Collect(maps.Keys(h.feeds))
}

// announce notifies other processes that a user is followed here.
func (h *Hub) announce(user core.UserID) { h.publish(context.Background(), topicFollowed, user, "") }

func (h *Hub) publish(ctx context.Context, topic string, user core.UserID, rest string) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	if err := h.bus.Publish(ctx, fmt.Sprintf("%s%s:%d%s", topic, h.worker, user, rest)); err != nil {
		h.log.Debug("other processes not notified", zap.Int64("user", int64(user)), zap.Error(err))
	}
}

// heard takes a message of another process.
func (h *Hub) heard(topic string) {
	if topic == core.TopicListening {
		signal(h.listens)
		return
	}
	for _, kind := range []string{topicAsked, topicFollowed, topicChanged, topicPreview} {
		rest, ok := strings.CutPrefix(topic, kind)
		if !ok {
			continue
		}
		worker, rest, _ := strings.Cut(rest, ":")
		number, rest, _ := strings.Cut(rest, ":")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || worker == h.worker {
			return
		}
		h.take(kind, core.UserID(id), rest)
	}
}

func (h *Hub) take(kind string, user core.UserID, rest string) {
	switch kind {
	case topicAsked:
		signal(h.asked)
	case topicFollowed:
		h.mu.Lock()
		h.afar[user] = h.now().Add(followedFor)
		h.mu.Unlock()
	case topicChanged:
		for _, f := range h.followers(user) {
			f.change()
		}
	case topicPreview:
		var p Preview
		if json.Unmarshal([]byte(rest), &p) != nil {
			return
		}
		for _, f := range h.followers(user) {
			f.preview(p)
		}
	}
}
