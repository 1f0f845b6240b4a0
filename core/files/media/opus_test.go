package media

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func sound(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestReadOpus_lengthAndSilence(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Opus{
		"speech.ogg":  {Duration: 2363458333 * time.Nanosecond},
		"silence.ogg": {Duration: 4 * time.Second, Silent: true},
	} {
		if got, err := ReadOpus(sound(t, name)); got != want || err != nil {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestReadOpus_refusesWhatIsNoRecording(t *testing.T) {
	t.Parallel()
	whole := sound(t, "speech.ogg")
	flac := bytes.Replace(whole, []byte("OpusHead"), []byte("FLAChead"), 1)
	far := bytes.Clone(whole)
	last := bytes.LastIndex(far, []byte("OggS"))
	binary.LittleEndian.PutUint64(far[last+6:], 1<<62)
	if got, err := ReadOpus(far); err != nil || got.Duration != longestSound {
		t.Errorf("an impossible position: got %+v, %v", got, err)
	}
	for what, data := range map[string][]byte{"nothing": nil, "a page": []byte("<html>"), "half": whole[:len(whole)/2],
		"a head alone": whole[:40], "another codec": flac, "more after it": append(bytes.Clone(whole), "more"...)} {
		if got, err := ReadOpus(data); err == nil {
			t.Errorf("%s: got %+v", what, got)
		}
	}
}

func FuzzReadOpus(f *testing.F) {
	f.Add(sound(f, "speech.ogg"))
	f.Add(sound(f, "silence.ogg"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, err := ReadOpus(data); o.Duration < 0 || o.Duration > longestSound || err != nil && o != (Opus{}) {
			t.Errorf("got %+v, %v", o, err)
		}
	})
}
