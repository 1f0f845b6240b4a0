package core

// Effect is a change to the store that a command or a tool requests. Effects are buffered and committed together with
// the reply, so a re-run of a turn applies nothing twice.
type Effect interface{ Effect() }
