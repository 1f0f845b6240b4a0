package sqlstore

import (
	"context"
	"time"
)

func (s *Store) beginSplit(ctx context.Context, m move, now time.Time) (time.Duration, error) { return 0, s.dropMove(ctx, m) }
func (s *Store) splitDays(ctx context.Context, m move) error { return nil }
func (s *Store) switchSplit(ctx context.Context, m move, now time.Time) (time.Duration, error) { return 0, nil }
func (s *Store) cleanSplit(ctx context.Context, m move) error { return nil }
