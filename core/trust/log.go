package trust

import (
	"bytes"

	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"
)

// LogEncoder encodes log lines that a terminal only shows, and that hold no line which
// others made up. Fields are JSON, in which what a terminal obeys is escaped.
type LogEncoder struct{ zapcore.Encoder }

// Clone returns a copy to add fields to.
func (l LogEncoder) Clone() zapcore.Encoder { return LogEncoder{l.Encoder.Clone()} }

// EncodeEntry encodes a line.
func (l LogEncoder) EncodeEntry(e zapcore.Entry, fields []zapcore.Field) (*buffer.Buffer, error) {
	e.Message = Line(e.Message)
	line, err := l.Encoder.EncodeEntry(e, fields)
	if err != nil || bytes.IndexFunc(line.Bytes(), Obeyed) < 0 {
		return line, err
	}
	escaped := Escaped(line.Bytes())
	line.Reset()
	_, err = line.Write(escaped)
	return line, err
}
