package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"
)

func rss(l string) {
	runtime.GC()
	debug.FreeOSMemory()
	b, _ := os.ReadFile("/proc/self/status")
	for _, s := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(s, "VmRSS") || strings.HasPrefix(s, "Rss") || strings.HasPrefix(s, "VmHWM") {
			fmt.Print(l, " ", s, "; ")
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("heap", m.HeapAlloc/1024, "KB")
}

func main() {
	rss("start")
	t := time.Now()
	c := codec.NewO200kBase()
	fmt.Println("load", time.Since(t))
	rss("loaded")
	t = time.Now()
	c.Count("hello world, how are you? Ça va bien aujourd'hui.")
	fmt.Println("first", time.Since(t))
	rss("first")
	s := strings.Repeat("The quick brown fox jumps over the lazy dog, n'est-ce pas? ", 2000)
	t = time.Now()
	n, _ := c.Count(s)
	fmt.Println(n, len(s), time.Since(t))
	rss("big")
	for _, k := range []string{"a", " ", "é", "!", "\n", "1", "漢", "ab ", "\xff"} {
		t = time.Now()
		n, err := c.Count(strings.Repeat(k, 200000))
		fmt.Printf("%q %d %v %v\n", k, n, err, time.Since(t))
	}
	rss("end")
}
