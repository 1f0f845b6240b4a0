package whatsapp

import (
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

// Types shared by Meta's two interfaces.
type (
	apiError = graph.Error
	netError = graph.NetError
	call     = graph.Call
)

// newAPI returns a client of the Graph API.
func newAPI(o Options) *graph.API {
	a := graph.New(strings.TrimRight(o.APIURL, "/")+"/"+o.APIVersion, o.AccessToken, o.HTTP, maxAnswer)
	a.CDN = true
	return a
}
