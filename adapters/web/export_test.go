package web

import (
	"net/http"
	"path"
)

// Internals for the tests with a room.
var (
	HashOf = hashOf
	Local  = local
)

func (c *Channel) AllRoutes() []Route { return c.routes }

func (c *Channel) Handler(r Route) http.Handler { return c.handler(r) }

func (v *Visit) Client() string { return v.client().String() }

// Asset returns the path of a static file, and its length plain and compressed.
func (c *Channel) Asset(name string) (at string, plain, packed int) {
	f := c.assets.files[path.Base(c.assets.names[name])]
	return c.assets.names[name], len(f.plain), len(f.gzip())
}
