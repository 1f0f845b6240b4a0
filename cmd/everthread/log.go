package main

import (
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/trust"
)

// newLogger returns the configured log, to w.
func newLogger(c configs.Log, w io.Writer) *zap.Logger {
	level, err := zapcore.ParseLevel(c.Level)
	if err != nil {
		level = zapcore.InfoLevel // Validate refuses it before
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	form := zapcore.NewJSONEncoder(enc)
	if c.Format == "console" {
		enc.EncodeLevel = zapcore.CapitalLevelEncoder
		form = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(trust.LogEncoder{Encoder: form}, zapcore.Lock(zapcore.AddSync(w)), level))
}

// fileLogger logs warnings and errors to a private file.
func fileLogger(path string) (*zap.Logger, func(), error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return newLogger(configs.Log{Level: "warn", Format: "console"}, f), func() { f.Close() }, nil
}
