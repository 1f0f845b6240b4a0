package web

import (
	"net/http"
	"path"
)

// What the tests of the page with a room in it look at.
var (
	HashOf = hashOf
	Local  = local
)

func (c *Channel) AllRoutes() []Route { return c.routes }

func (c *Channel) Handler(r Route) http.Handler { return c.handler(r) }

func (v *Visit) Client() string { return v.client().String() }

// Asset returns where a file is served, and how long it is, as it is and packed.
func (c *Channel) Asset(name string) (at string, plain, packed int) {
	f := c.assets.files[path.Base(c.assets.names[name])]
	zipped, err := f.gzip()
	if err != nil {
		panic(err)
	}
	return c.assets.names[name], len(f.plain), len(zipped)
}
