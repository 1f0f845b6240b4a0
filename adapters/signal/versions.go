package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
)

// versionsKey is the key of the stored versions.
const versionsKey = "versions"

// versionsFor is how long the versions of an edited message are stored. Apps edit and delete messages within a day.
const versionsFor = 48 * time.Hour

// version is a later version of a message. Apps name an edited message by the time of any of its versions.
type version struct {
	Person string `json:"person"`
	At     int64  `json:"at"`
	First  int64  `json:"first"`
}

// versions are those of versionsFor, in the order of their arrival.
type versions struct {
	keeper core.Keeper // nil: they are lost with the process
	all    []version
	saved  int // of all, from the beginning
}

// load reads the stored versions.
func (v *versions) load(ctx context.Context, first *recent[message, int64]) error {
	if v.keeper == nil {
		return nil
	}
	stored, err := v.keeper.State(ctx, versionsKey)
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &v.all)
	}
	if err != nil {
		return fmt.Errorf("read the versions of edited messages: %w", err)
	}
	for _, one := range v.all {
		first.put(message{one.Person, one.At}, one.First)
	}
	v.saved = len(v.all)
	return nil
}

// add notes the versions that events show.
func (v *versions) add(in []core.Inbound, first *recent[message, int64]) {
	for _, m := range in {
		if m.Kind != core.InEdit {
			continue
		}
		if original, _, err := identified(m.Target); err == nil {
			one := version{writer(&m), m.SentAt.UnixMilli(), original}
			first.put(message{one.Person, one.At}, one.First)
			v.all = append(v.all, one)
		}
	}
}

// save stores the versions, if there are new ones.
func (v *versions) save(ctx context.Context, now time.Time) error {
	if v.keeper == nil || v.saved == len(v.all) {
		return nil
	}
	kept := v.all[:0:0]
	for _, one := range v.all {
		if now.Sub(time.UnixMilli(one.At)) < versionsFor {
			kept = append(kept, one)
		}
	}
	raw, err := json.Marshal(kept)
	if err == nil {
		err = v.keeper.SetState(ctx, map[string]string{versionsKey: string(raw)})
	}
	if err != nil {
		return fmt.Errorf("store the versions of edited messages: %w", err)
	}
	v.all, v.saved = kept, len(kept)
	return nil
}

// keeping is a Receiver that stores the versions of edited messages and the timers of messages before the events, so that
// what follows an event finds its message also after a restart.
type keeping struct {
	c *Channel
	r core.Receiver
}

func (k keeping) Receive(ctx context.Context, in ...core.Inbound) error {
	if err := cmp.Or(k.c.versions.save(ctx, k.c.now()), k.c.expiry.save(ctx)); err != nil {
		return err
	}
	return k.r.Receive(ctx, in...)
}
