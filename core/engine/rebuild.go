package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/prompt"
)

// SnapshotStore reads the contents of snapshots.
type SnapshotStore interface {
	Epoch(ctx context.Context, user core.UserID, id core.TurnID) (*core.Epoch, error)
	Messages(ctx context.Context, user core.UserID, ids []core.MessageID) ([]core.Message, error)
	PageTexts(ctx context.Context, user core.UserID, refs []core.PageRef) ([]core.Page, error)
}

// Rebuild returns the prompt that a snapshot describes.
func Rebuild(ctx context.Context, st SnapshotStore, c configs.Config, t core.Tokenizer, user core.UserID,
	s *core.Snapshot) ([]core.ModelMessage, error) {
	e, err := st.Epoch(ctx, user, s.Epoch)
	if err != nil {
		return nil, fmt.Errorf("read the epoch of the prompt: %w", err)
	}
	ms, err := st.Messages(ctx, user, slices.Collect(s.Messages.All()))
	if err != nil {
		return nil, fmt.Errorf("read the messages of the prompt: %w", err)
	}
	var refs []core.PageRef
	for _, h := range e.Head {
		refs = append(refs, h.Pages...)
	}
	pages, err := st.PageTexts(ctx, user, refs)
	if err != nil {
		return nil, fmt.Errorf("read the history of the prompt: %w", err)
	}
	return prompt.Rebuild(*e, *s, ms, pages, budgets(c), t), nil
}
