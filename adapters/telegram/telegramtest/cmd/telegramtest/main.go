// Command telegramtest serves the fake Bot API of package telegramtest, to try the gateway
// without Telegram:
//
//	go run ./adapters/telegram/telegramtest/cmd/telegramtest -listen 127.0.0.1:8081
//	EVERTHREAD_CHANNELS_TELEGRAM_API_URL=http://127.0.0.1:8081 \
//	EVERTHREAD_CHANNELS_TELEGRAM_TOKEN=123456:TEST everthread
//	curl -d '{"chat": 7, "text": "hello"}' http://127.0.0.1:8081/control/say
//	curl 'http://127.0.0.1:8081/control/sent?chat=7'
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/everthread/everthread/adapters/telegram/telegramtest"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8081", "address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "telegramtest:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr string) error {
	s, err := telegramtest.Listen(addr)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("serving the Bot API on", s.URL())
	<-ctx.Done()
	return nil
}
