package engine

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/everthread/everthread/core"
)

// span begins a span of a turn; end ends it. Without tracing it does nothing.
func span(ctx context.Context, name string, t *core.Turn) (inner context.Context, end func()) {
	inner, s := otel.Tracer("everthread").Start(ctx, name, trace.WithAttributes(
		attribute.Int64("user", int64(t.User)), attribute.Int64("thread", int64(t.Thread)),
		attribute.Int64("turn", int64(t.ID))))
	return inner, func() { s.End() }
}
