package main

import (
	"bytes"
	"io"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core/trust"
)

// newLogger returns a log to w as it is configured.
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
	return zap.New(zapcore.NewCore(visible{form}, zapcore.Lock(zapcore.AddSync(w)), level))
}

// visible is an encoder of lines in which nothing stands that a terminal obeys, and
// no line that others made up. Fields are JSON, in which it is escaped.
type visible struct{ zapcore.Encoder }

// Clone is a copy to add fields to.
func (v visible) Clone() zapcore.Encoder { return visible{v.Encoder.Clone()} }

// EncodeEntry encodes a line.
func (v visible) EncodeEntry(e zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	e.Message = trust.Line(e.Message)
	line, err := v.Encoder.EncodeEntry(e, fields)
	if err != nil || bytes.IndexFunc(line.Bytes(), trust.Obeyed) < 0 {
		return line, err
	}
	escaped := trust.Escaped(line.Bytes())
	line.Reset()
	_, err = line.Write(escaped)
	return line, err
}

// fileLogger logs warnings and errors to a file, which nobody may read but us.
func fileLogger(path string) (*zap.Logger, func(), error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return newLogger(configs.Log{Level: "warn", Format: "console"}, f), func() { f.Close() }, nil
}
