package live

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/everthread/everthread/core"
)

// How processes tell each other.
const (
	renewEvery  = 20 * time.Second       // that users are followed here
	followedFor = 50 * time.Second       // after it was said last
	tellEvery   = 100 * time.Millisecond // of one answer that is being written
	tellTime    = 5 * time.Second
	maxText     = 6000 // bytes of a preview, before it is quoted
)

// Topics between processes, each followed by what it is about.
const (
	topicAsked    = "live-asked:"    // WORKER:0, who is followed
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
	group, ctx := errgroup.WithContext(ctx)
	// Subscribe before anything is asked, or the answers may go unheard.
	changes, wakes := h.bus.Changed(ctx), h.bus.Wakes(ctx)
	for _, f := range h.all() { // what happened before it listened went unheard
		f.change()
	}
	group.Go(func() error {
		for user := range changes {
			h.changed(ctx, user)
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

// changed tells of a user whose rows this process wrote.
func (h *Hub) changed(ctx context.Context, user core.UserID) {
	for _, f := range h.followers(user) {
		f.change()
	}
	if h.isAfar(user) {
		h.publish(ctx, topicChanged, user, "")
	}
}

// Preview tells what there is of the answer of a turn. It costs next to nothing
// while nobody follows the user.
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

// mayTell bounds how often other processes hear of one answer.
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

// ask asks other processes who is followed there: at first, and whenever this
// process hears them again, who may have told something meanwhile.
func (h *Hub) ask(ctx context.Context) {
	for {
		h.publish(ctx, topicAsked, 0, "")
		select {
		case <-ctx.Done():
			return
		case <-h.listens:
		}
	}
}

// renew says again which users are followed here, and forgets what is old.
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

// followed are the users who are followed here.
func (h *Hub) followed() []core.UserID {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for user, until := range h.afar {
		if until.Before(now) {
			delete(h.afar, user)
		}
	}
	for id, at := range h.told {
		if now.Sub(at) > followedFor {
			delete(h.told, id)
		}
	}
	out := make([]core.UserID, 0, len(h.feeds))
	for user := range h.feeds {
		out = append(out, user)
	}
	return out
}

// announce tells other processes that a user is followed here.
func (h *Hub) announce(user core.UserID) { h.publish(context.Background(), topicFollowed, user, "") }

func (h *Hub) publish(ctx context.Context, topic string, user core.UserID, rest string) {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	if err := h.bus.Publish(ctx, fmt.Sprintf("%s%s:%d%s", topic, h.worker, user, rest)); err != nil {
		h.log.Debug("tell other processes", zap.Int64("user", int64(user)), zap.Error(err))
	}
}

// heard takes news of other processes.
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
