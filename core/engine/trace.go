package engine

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/everthread/everthread/core"
)

// Tracing reports whether the environment requests traces.
func Tracing() bool { return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" }

// StartTracing sends spans to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT, if there is one,
// until stop is called, which sends the last ones.
func StartTracing(ctx context.Context, version string) (stop func(context.Context) error, err error) {
	if !Tracing() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(
		resource.NewSchemaless(semconv.ServiceName("everthread"), semconv.ServiceVersion(version))))
	otel.SetTracerProvider(provider)
	return provider.Shutdown, nil
}

// span begins a span of a turn; end ends it. Without tracing it does nothing.
func span(ctx context.Context, name string, t *core.Turn) (inner context.Context, end func()) {
	inner, s := otel.Tracer("everthread").Start(ctx, name, trace.WithAttributes(
		attribute.Int64("user", int64(t.User)), attribute.Int64("thread", int64(t.Thread)),
		attribute.Int64("turn", int64(t.ID))))
	return inner, func() { s.End() }
}
