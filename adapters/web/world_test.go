package web_test

import (
	"testing"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/adapters/web/chat"
	"github.com/everthread/everthread/adapters/web/webtest"
)

// newWorld returns the page with the conversation. Options may be changed before it is created.
func newWorld(t *testing.T, change ...func(o *web.Options)) *webtest.World {
	t.Helper()
	return webtest.New(t, func(w *webtest.World) []web.Room {
		return []web.Room{chat.New(chat.Options{Store: w.Store, People: w.People, Hub: w.Hub, Gateway: w.Gate,
			Keeper: w.Gate, Memory: w.Memory, MediaDir: w.Media, MediaMax: 1 << 20, Now: w.Clock.Now})}
	}, change...)
}
