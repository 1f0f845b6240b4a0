package whatsapp

import (
	"github.com/everthread/everthread/adapters/whatsapp/graph"
	"github.com/everthread/everthread/core"
)

// Render returns p as the text of a message (graph.Render).
func Render(p core.Part, max int) (string, error) { return graph.Render("whatsapp", p, max) }
