// Command whatsapptest serves the fake Cloud API of package whatsapptest, to try the
// gateway without WhatsApp:
//
//	go run ./adapters/whatsapp/whatsapptest/cmd/whatsapptest -listen 127.0.0.1:8082
//	curl -d '{"url": "http://127.0.0.1:8080/webhooks/whatsapp"}' http://127.0.0.1:8082/control/webhook
//	curl -d '{"phone": "16505551234", "text": "hello"}' http://127.0.0.1:8082/control/say
//	curl http://127.0.0.1:8082/control/sent
//
// It prints the required configuration of the gateway.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
)

func main() {
	addr := flag.String("listen", "127.0.0.1:8082", "address to serve on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "whatsapptest:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr string) error {
	s, err := whatsapptest.Listen(addr)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Printf("api_url: %s\nphone_number_id: %q\naccess_token: %s\napp_secret: %s\nverify_token: %s\n",
		s.URL(), whatsapptest.PhoneNumberID, whatsapptest.Token, whatsapptest.AppSecret, whatsapptest.VerifyToken)
	<-ctx.Done()
	return nil
}
