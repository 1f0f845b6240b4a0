package document

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// soakInputs is the number of damaged files; `make soak` sets a larger one.
var soakInputs = flag.Int("soak.inputs", 20000, "how many damaged files are read")

// damaged returns a file with some bytes changed, removed, repeated or moved.
func damaged(rnd *rand.Rand, file []byte) []byte {
	out := bytes.Clone(file)
	for range 1 + rnd.IntN(8) {
		if len(out) < 2 {
			break
		}
		at := rnd.IntN(len(out))
		end := at + rnd.IntN(min(len(out)-at, 64))
		switch rnd.IntN(6) {
		case 0:
			out[at] ^= 1 << rnd.IntN(8)
		case 1:
			out[at] = "\x00\xff<>&\"'/;,\n\\"[rnd.IntN(12)]
		case 2:
			out = append(out[:at], out[end:]...)
		case 3:
			out = out[:max(at, 1)]
		case 4:
			out = append(out[:end:end], out[at:]...)
		case 5:
			copy(out[rnd.IntN(len(out)):], out[at:end])
		}
	}
	return out
}

// TestReader_damagedFiles checks that reading any damaged file ends without a panic. The parts of a
// zipped document are damaged before they are zipped, because otherwise none could be unzipped.
func TestReader_damagedFiles(t *testing.T) {
	t.Parallel()
	var files [][]byte
	for _, pattern := range []string{"*.docx", "*.odt", "*.ods", "*.odp", "*.pptx", "*.epub"} {
		names, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
		}
	}
	texts := []string{"a,b\n\"c;d\",e\n\"f\ng\",1.5\n", "# one\n```\n# two\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n",
		"<!doctype html><title>t</title><p>a<table><tr><td>b<td colspan=3>c</table><script>x</script><ul><li>d&eacute;</ul>",
		"\xff\xfea\x00b\x00", "caf\xe9 au lait\n\n\x0cpage two"}
	part := `<w:document><w:p><w:r><w:t>a</w:t><w:br w:type="page"/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:document>`
	names := []string{"a.txt", "a.md", "a.csv", "a.html", "a.go", "a"}
	var work sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for n := range workers {
		work.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 3)) //nolint:gosec // any number will do
			for i := 0; i < *soakInputs/workers && !t.Failed(); i++ {
				switch rnd.IntN(20) {
				case 0:
					fuzzed(t, "a", damaged(rnd, files[rnd.IntN(len(files))]))
				case 1, 2:
					fuzzed(t, "a", zipOf(t, "word/document.xml", string(damaged(rnd, []byte(part)))))
				default:
					fuzzed(t, names[rnd.IntN(len(names))], damaged(rnd, []byte(texts[rnd.IntN(len(texts))])))
				}
			}
		})
	}
	work.Wait()
}
