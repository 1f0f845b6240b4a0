package agent

import "github.com/everthread/everthread/adapters/whatsapp/graph"

// maxAnswer bounds what is read of an answer, in bytes; a hundred messages of 4096
// characters stay below.
const maxAnswer = 8 << 20

// What both of Meta's interfaces have in common.
type (
	apiError = graph.Error
	netError = graph.NetError
	call     = graph.Call
)

// newAPI calls the Agent Platform with one key.
func newAPI(o Options, key string) *graph.API {
	return graph.New(o.APIURL, key, o.HTTP, maxAnswer)
}
