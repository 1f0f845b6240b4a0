package server

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// resident returns how much memory of the process is mapped from files, in kB. Those of a file system in memory count as
// shared memory.
func resident(t *testing.T) (kB int) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(b), "\n") {
		if f := strings.Fields(line); len(f) == 3 && (f[0] == "RssFile:" || f[0] == "RssShmem:") {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			kB += n
		}
	}
	return kB
}

func TestDroppedPagesComeBack(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	before := resident(t)
	if err := dropProgram(); err != nil {
		t.Fatal(err)
	}
	after := resident(t)
	if after >= before {
		t.Errorf("%d kB mapped from files before, %d after", before, after)
	}
	if err := dropProgram(); err != nil { // the program still runs
		t.Fatal(err)
	}
}
