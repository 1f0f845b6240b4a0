package web

import (
	"net/http"

	"github.com/everthread/everthread/core"
)

// IsOwner reports whether a request comes from a browser that the owner signed in with.
func (c *Channel) IsOwner(r *http.Request) bool {
	k, err := r.Cookie(c.visit(nil, r).cookieName())
	if err != nil || len(k.Value) > 100 {
		return false
	}
	_, user, err := c.Store.Session(r.Context(), hashOf(k.Value), c.Now())
	return err == nil && user.Role == core.RoleOwner
}
