package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// tracing reports whether traces are wanted.
func tracing() bool { return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" }

// startTracing sends spans to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT until
// stop is called, which sends the last ones.
func startTracing(ctx context.Context) (stop func(context.Context) error, err error) {
	if !tracing() {
		return func(context.Context) error { return nil }, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithResource(resource.NewSchemaless(semconv.ServiceName("everthread"), semconv.ServiceVersion(version))))
	otel.SetTracerProvider(provider)
	return provider.Shutdown, nil
}
