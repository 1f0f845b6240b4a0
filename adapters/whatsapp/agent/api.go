package agent

import "github.com/everthread/everthread/adapters/whatsapp/graph"

// maxAnswer bounds an answer, in bytes. A hundred messages of 4096 characters fit.
const maxAnswer = 8 << 20

// Types shared by Meta's two interfaces.
type (
	apiError = graph.Error
	netError = graph.NetError
	call     = graph.Call
)

// newAPI returns a client of the Agent Platform with one key.
func newAPI(o Options, key string) *graph.API {
	return graph.New(o.APIURL, key, o.HTTP, maxAnswer)
}
