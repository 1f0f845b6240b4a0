package core

import (
	"context"
	"time"
)

// AgentKey is the key of a WhatsApp personal agent, which serves one user.
type AgentKey struct {
	ID        int64 // unique among all users
	User      UserID
	Name      string
	Sealed    string // the key itself, encrypted; see core/seal
	CreatedAt time.Time
}

// PersonalAgent is a personal agent without its key.
type PersonalAgent struct {
	ID    int64
	Name  string
	Since time.Time
	Err   error // what is wrong with it; nil: nothing known
}

// AgentKeyStore stores the keys of personal agents.
type AgentKeyStore interface {
	// AddAgentKey stores a key and assigns its ID; seal receives that id and returns Sealed.
	AddAgentKey(ctx context.Context, k AgentKey, seal func(id int64) (string, error)) (AgentKey, error)
	// AgentKeys lists the keys of all users.
	AgentKeys(ctx context.Context) ([]AgentKey, error)
	// RemoveAgentKey removes a user's key. ErrNotFound if there is none.
	RemoveAgentKey(ctx context.Context, user UserID, id int64) error
}
