package core

import (
	"context"
	"time"
)

// Via is the means by which somebody acts.
type Via string

// Ways to act.
const (
	ViaIdentity Via = "identity" // an address in a chat
	ViaSession  Via = "session"  // a signed-in browser
	ViaKey      Via = "key"      // an API key
	ViaOperator Via = "operator" // the command line on the machine
	ViaGateway  Via = "gateway"  // the gateway itself
)

// Actor identifies who acts: by the id of the identity, session or key. At is when it began.
type Actor struct {
	Via Via
	ID  int64
	At  time.Time
}

type actorKey struct{}

// WithActor returns a context whose changes the store attributes to a; the zero Actor is nobody.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of a context; ok is false if it has none.
func ActorOf(ctx context.Context) (a Actor, ok bool) {
	a, _ = ctx.Value(actorKey{}).(Actor)
	return a, a.Via != ""
}
