package importer_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/everthread/everthread/core/archive/importer"
	"github.com/everthread/everthread/internal/fulltest"
)

// endless writes a ZIP file with a list of n files, whose end record claims few.
func endless(t *testing.T, n int) string {
	t.Helper()
	var entry bytes.Buffer
	entry.WriteString("PK\x01\x02")
	entry.Write(make([]byte, 24))
	_ = binary.Write(&entry, binary.LittleEndian, uint16(1)) // length of the name
	entry.Write(make([]byte, 16))
	entry.WriteString("a")
	file := filepath.Join(t.TempDir(), "endless.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	head := "PK\x03\x04" + strings.Repeat("\x00", 26)
	_, _ = w.WriteString(head)
	for range n {
		_, _ = w.Write(entry.Bytes())
	}
	_, _ = w.WriteString("PK\x05\x06" + strings.Repeat("\x00", 4))
	for _, v := range []any{uint16(n), uint16(n), uint32(n * entry.Len()), uint32(len(head)), uint16(0)} {
		_ = binary.Write(w, binary.LittleEndian, v)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil { // a bufio.Writer keeps its first error
		t.Fatal(err)
	}
	return file
}

// TestOpen_endlessListsOfFiles checks that a list longer than claimed is rejected without taking much
// memory. It is not parallel because it measures the process.
func TestOpen_endlessListsOfFiles(t *testing.T) {
	open(t, endless(t, 1000))
	file := endless(t, fulltest.Size(250_000, 10_000_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := importer.Open(file)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "more than 200000 files") {
		t.Errorf("got %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 300<<20 {
		t.Errorf("allocated %d MB", took>>20)
	}
}

func TestMedia_noNameIsAPath(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	chat := fmt.Sprintf(`{"name":"x","type":"bot_chat","id":7,"messages":[
		{"id":1,"type":"message","date_unixtime":"1709280060","from_id":"user1","file":"../../../../../../../..%s","file_name":"secret.txt","text":"absolute"},
		{"id":2,"type":"message","date_unixtime":"1709280061","from_id":"user1","file":"../evil.txt","file_name":"../../evil.txt","text":"up"},
		{"id":3,"type":"message","date_unixtime":"1709280062","from_id":"user1","file":"%s","file_name":"link","text":"link"}]}`, outside, "link")
	packed := pack(t, map[string]string{"result.json": chat, "../evil.txt": "evil",
		"../../../../../../../../tmp/evil.txt": "evil"})
	folder := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(folder, "result.json"), []byte(chat), 0o600),
		os.Symlink(outside, filepath.Join(folder, "link"))); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"packed": packed, "folder": folder} {
		w := newWorld(t)
		out := w.bring("telegram", file, "")
		if out.Fresh != 3 {
			t.Errorf("%s: got %+v", name, out)
		}
		kept, err := filepath.Glob(w.media + "/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kept {
			if b, err := os.ReadFile(k); err != nil || string(b) != "evil" || !strings.HasPrefix(filepath.Base(k), "import-") {
				t.Errorf("%s: %s contains %q, %v", name, k, b, err)
			}
		}
		if beside, err := os.ReadDir(filepath.Dir(w.media)); err != nil || strings.Contains(fmt.Sprint(beside), "evil") {
			t.Errorf("%s: next to the media folder: %v, %v", name, beside, err)
		}
	}
}

func TestImport_cutFileIsGivenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := many(t, 2500)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(t.TempDir(), "result.json")
	if err := os.WriteFile(part, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := importer.NewSurvey(open(t, part), "telegram", paris(t), "", "Ada", w.label)
	if err != nil || s.LeftOut == 0 {
		t.Errorf("the survey does not report the cut: %+v, %v", s, err)
	}
	first := w.bring("telegram", part, "")
	if first.Fresh < 1000 || first.Fresh > 1400 {
		t.Errorf("got %+v", first)
	}
	if out := w.bring("telegram", file, ""); out.Fresh != 2500-first.Fresh || out.Known != first.Fresh {
		t.Errorf("the whole file: got %+v", out)
	}
}

func TestImport_fullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := fulltest.Size(2000, 6000)
	file := many(t, n)
	var pages int
	if err := w.st.DB().QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		t.Helper()
		if _, err := w.st.DB().Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + n/20)
	a, o := open(t, file), paris(t)
	s, err := importer.NewSurvey(a, "telegram", o, "", "Ada", w.label)
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.importer(w.st).Run(t.Context(), a, "telegram", o, s)
	if err == nil || !strings.Contains(err.Error(), "full") || out.Fresh == 0 {
		t.Fatalf("got %+v, %v", out, err)
	}
	limit(1 << 30)
	if again := w.bring("telegram", file, ""); again.Fresh != n-out.Fresh || again.Known != out.Fresh {
		t.Errorf("with room again: got %+v after %+v", again, out)
	}
}

func TestOpen_encodings(t *testing.T) {
	t.Parallel()
	const chat = "[03.04.23, 21:41:07] Ada: déjà vu\n[03.04.23, 21:42:07] Bob: oui\n"
	latin := strings.NewReplacer("é", "\xe9", "à", "\xe0").Replace(chat)
	var wide bytes.Buffer
	wide.WriteString("\xff\xfe")
	_ = binary.Write(&wide, binary.LittleEndian, utf16.Encode([]rune(chat)))
	for name, text := range map[string]string{"UTF-8": chat, "with a mark": "\ufeff" + chat, "Latin-1 within": latin,
		"UTF-16": wide.String()} {
		file := filepath.Join(t.TempDir(), "_chat.txt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t)
		a := open(t, file)
		_, err := importer.NewSurvey(a, "whatsapp", paris(t), "Ada", "Ada", w.label)
		if name == "UTF-16" {
			if err == nil || !strings.Contains(err.Error(), "UTF-16") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if out := w.bring("whatsapp", file, "Ada"); err != nil || out.Fresh != 2 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
		if got := w.said(0); !strings.Contains(got, "vu") || name != "Latin-1 within" && !strings.Contains(got, "déjà vu") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
