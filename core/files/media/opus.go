package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
)

// Opus describes an OGG/Opus file, without decoding it.
type Opus struct {
	Duration time.Duration
	// Silent means that it has no sound, or repeats one packet, as encoders write silence.
	Silent bool
}

// Reasons why a file is not OGG/Opus.
var (
	errNotOgg  = errors.New("it is no OGG file")
	errNotOpus = errors.New("the OGG file holds no Opus")
	errCutOff  = errors.New("the OGG file is cut off")
)

const (
	opusRate     = 48_000 // samples a second of positions, whatever the recording
	pageHeader   = 27
	longestSound = 24 * time.Hour // bound of positions
)

// ReadOpus reads the pages of an OGG/Opus file. It accepts any bytes.
func ReadOpus(data []byte) (Opus, error) {
	if !bytes.HasPrefix(data, []byte("OggS")) {
		return Opus{}, errNotOgg
	}
	var s opusStream
	for len(data) > 0 {
		n, err := s.page(data)
		if err != nil {
			return Opus{}, err
		}
		data = data[n:]
	}
	if s.packets < 2 { // the heads
		return Opus{}, errCutOff
	}
	samples := max(0, min(s.last-int64(s.skip), int64(longestSound.Seconds()*opusRate)))
	long := time.Duration(samples) * time.Second / opusRate
	const alike = 10 // in silence, one packet in so many differs from the others
	return Opus{Duration: long, Silent: long == 0 || len(s.sounds)*alike <= s.packets-2}, nil
}

// opusStream is the state after the pages read so far.
type opusStream struct {
	packets int
	partial []byte // of a packet that continues on the next page
	skip    uint16 // inaudible samples at the beginning
	last    int64  // position of the end
	sounds  map[string]struct{}
}

// page reads the page that data begins with and returns its length.
func (s *opusStream) page(data []byte) (int, error) {
	if len(data) < pageHeader || string(data[:4]) != "OggS" {
		return 0, errCutOff
	}
	segments := int(data[26])
	if len(data) < pageHeader+segments {
		return 0, errCutOff
	}
	at := pageHeader + segments
	for _, size := range data[pageHeader:at] {
		end := at + int(size)
		if end > len(data) {
			return 0, errCutOff
		}
		s.partial = append(s.partial, data[at:end]...)
		at = end
		if size < 255 {
			if err := s.packet(); err != nil {
				return 0, err
			}
		}
	}
	if position := int64(binary.LittleEndian.Uint64(data[6:14])); position > 0 {
		s.last = position
	}
	return at, nil
}

// packet takes the complete packet in partial.
func (s *opusStream) packet() error {
	p := s.partial
	switch s.packets {
	case 0:
		if len(p) < 12 || string(p[:8]) != "OpusHead" {
			return errNotOpus
		}
		s.skip = binary.LittleEndian.Uint16(p[10:12])
		s.sounds = map[string]struct{}{}
	case 1: // comments
	default:
		s.sounds[string(p)] = struct{}{}
	}
	s.packets++
	s.partial = s.partial[:0]
	return nil
}
