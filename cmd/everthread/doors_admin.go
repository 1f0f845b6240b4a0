package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/everthread/everthread/adapters/web"
)

// adminPage is what the owner's page needs.
func (a *app) adminPage() *web.Admin {
	return &web.Admin{Store: a.store, NewWebLink: a.newWebLink(), Health: a.health, Check: a.findings}
}

// findings checks the configuration as `everthread doctor` does.
func (a *app) findings(ctx context.Context) []web.Finding {
	var out []web.Finding
	for _, f := range examineConfig(ctx, a.cfg) {
		out = append(out, web.Finding{Check: f.Check, Detail: f.Detail, OK: f.OK})
	}
	return out
}

// whatsappNumber asks for the number of the business account.
func (l *linkApps) whatsappNumber(ctx context.Context) (string, error) {
	w := l.cfg.Channels.WhatsApp
	address := strings.TrimRight(w.APIURL, "/") + "/" + w.APIVersion + "/" + url.PathEscape(w.PhoneNumberID) + "?fields=display_phone_number"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", errors.New("the address is wrong")
	}
	req.Header.Set("Authorization", "Bearer "+string(w.AccessToken))
	resp, err := ask(req)
	if err != nil {
		return "", fmt.Errorf("ask for the number: %w", err)
	}
	defer resp.Body.Close()
	var said struct {
		Number string `json:"display_phone_number"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&said); err != nil {
		return "", fmt.Errorf("ask for the number: %w", err)
	}
	return said.Number, nil
}
