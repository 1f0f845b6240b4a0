package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/store"
)

// pageAccount is the account in whose state the values lie that the owner set on the page, and sealedKey the prefix of
// their keys there, which has them sealed.
const (
	pageAccount = "settings"
	sealedKey   = "secret."
)

// ErrOtherKey means that what the page stored was encrypted with another secret key.
var ErrOtherKey = errors.New("it cannot be decrypted with this secret key")

// StoredSettings returns the values that the owner set on the page, or ErrOtherKey. c holds the secret key.
func StoredSettings(ctx context.Context, c configs.Config, st store.StateStore) (configs.Stored, error) {
	sealed, err := st.States(ctx, pageAccount)
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	by, err := NewSealer(c)
	if err != nil {
		return nil, err
	}
	out := configs.Stored{}
	for key, text := range sealed {
		path, ok := strings.CutPrefix(key, sealedKey)
		if !ok {
			continue
		}
		if out[path], err = by.Open(pageAccount+" "+key, text); err != nil {
			return nil, fmt.Errorf("%s, set on the page: %w", path, errors.Join(ErrOtherKey, err))
		}
	}
	return out, nil
}

// SaveSettings stores changes of StoredSettings; an empty text removes a value.
func SaveSettings(ctx context.Context, c configs.Config, st store.StateStore, changes map[string]string) error {
	by, err := NewSealer(c)
	if err != nil {
		return err
	}
	values := map[string]string{}
	for path, text := range changes {
		key := sealedKey + path
		if values[key] = text; text == "" {
			continue
		}
		if values[key], err = by.Seal(pageAccount+" "+key, text); err != nil {
			return err
		}
	}
	return st.SetState(ctx, pageAccount, values, store.Fence{})
}
