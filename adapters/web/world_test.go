package web_test

import (
	"context"
	"testing"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/adapters/web/webtest"
	"github.com/everthread/everthread/core/plan"
	"github.com/everthread/everthread/core/search"
)

// nothing is found by any search.
type nothing struct{}

func (nothing) Search(context.Context, search.Query) (out search.Result, err error) {
	return
}

func (nothing) InThreads(context.Context, search.Query) (out search.ThreadHits, err error) {
	return
}

func (nothing) Marks(string, string) [][2]int { return nil }

// newWorld returns the page with the conversation. Options may be changed before it is created.
func newWorld(t *testing.T, change ...func(o *web.Options)) *webtest.World {
	t.Helper()
	return webtest.New(t, func(w *webtest.World) []web.Room {
		return []web.Room{chat.New(chat.Options{Store: w.Store, Groups: w.Groups, People: w.People, Hub: w.Hub, Gateway: w.Gate,
			Keeper: w.Gate, Memory: w.Memory, Search: nothing{},
			Plans:    &plan.Plans{Store: w.Store, Settings: plan.Settings{Language: "en"}},
			MediaDir: w.Media, MediaMax: 1 << 20, Now: w.Clock.Now})}
	}, change...)
}
