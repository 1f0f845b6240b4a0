package whatsapp

import (
	"strings"

	"github.com/everthread/everthread/adapters/whatsapp/graph"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 1 << 20

// What both of Meta's interfaces have in common.
type (
	apiError = graph.Error
	netError = graph.NetError
	call     = graph.Call
)

// newAPI calls the Graph API.
func newAPI(o Options) *graph.API {
	a := graph.New(strings.TrimRight(o.APIURL, "/")+"/"+o.APIVersion, o.AccessToken, o.HTTP, maxAnswer)
	a.CDN = true
	return a
}
