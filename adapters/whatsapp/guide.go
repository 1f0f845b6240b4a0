package whatsapp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/everthread/everthread/configs/section"
	"github.com/everthread/everthread/core/channel"
)

var _ channel.Guided = (*Config)(nil)

// guideWords are the words of the guide.
type guideWords struct{ option, number, help, token, secret, good, notFound, noNumber string }

func guideWordsOf(language string) guideWords {
	if language == "fr" {
		return guideWords{
			option: "WhatsApp, avec un numéro professionnel", number: "L’identifiant du numéro",
			help:  "Sur la page WhatsApp de l’application, à developers.facebook.com ; pas le numéro lui-même. Les conditions de Meta n’y permettent pas partout les assistants généralistes.",
			token: "Le jeton d’accès d’un utilisateur système", secret: "Le secret de l’application",
			good:     "WhatsApp connaît le numéro. Son webhook demande une adresse https (docs/whatsapp.md) ; le jeton de vérification est %s.",
			notFound: "le numéro est introuvable ({detail}) ; vérifiez son identifiant, et que le jeton peut s’en servir", noNumber: "l’identifiant du numéro n’est pas bon",
		}
	}
	return guideWords{
		option: "WhatsApp, with a business number", number: "The phone number's id",
		help:  "From the app's WhatsApp page on developers.facebook.com; not the number itself. Meta's terms do not allow general-purpose assistants on it everywhere.",
		token: "The access token of a system user", secret: "The app secret",
		good:     "WhatsApp knows the number. Its webhook needs an https address (docs/whatsapp.md); the verify token is %s.",
		notFound: "the number is not found ({detail}); check the id of the number, and that the token may use it",
		noNumber: "the id of the number is wrong",
	}
}

// Guide asks for a business number.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := guideWordsOf(language)
	return channel.Guide{
		Option: w.option,
		Fields: []channel.Field{
			{ID: "whatsapp_number", Title: w.number, Help: w.help, Into: &c.PhoneNumberID},
			{ID: "whatsapp_token", Title: w.token, Into: (*string)(&c.AccessToken), Secret: true},
			{ID: "whatsapp_secret", Title: w.secret, Into: (*string)(&c.AppSecret), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) { return c.try(ctx, h, w) },
	}
}

// try asks Meta for the number, and makes a verify token.
func (c *Config) try(ctx context.Context, h channel.Host, w guideWords) (channel.Tried, error) {
	if err := c.ask(ctx, h, w); err != nil {
		return channel.Tried{}, err
	}
	from := h.Rand
	if from == nil {
		from = rand.Reader
	}
	b := make([]byte, 12)
	if _, err := io.ReadFull(from, b); err != nil {
		return channel.Tried{}, fmt.Errorf("make a verify token: %w", err)
	}
	c.VerifyToken = section.Secret(hex.EncodeToString(b))
	return channel.Tried{
		Said: fmt.Sprintf(w.good, string(c.VerifyToken)), Comment: "docs/whatsapp.md",
		Keys: []string{"phone_number_id", c.PhoneNumberID, "access_token", string(c.AccessToken),
			"app_secret", string(c.AppSecret), "verify_token", string(c.VerifyToken)},
	}, nil
}

func (c *Config) ask(ctx context.Context, h channel.Host, w guideWords) error {
	if c.PhoneNumberID == "" {
		return &channel.Fault{Text: w.noNumber}
	}
	a := newAPI(Options{APIURL: c.APIURL, APIVersion: c.APIVersion, AccessToken: string(c.AccessToken),
		HTTP: h.Client(c.APIURL)})
	path := url.PathEscape(c.PhoneNumberID) + "?fields=id"
	_, err := a.Do(ctx, call{Op: "look up the number", Method: http.MethodGet, Path: path, Timeout: callTimeout}, nil)
	var refused *apiError
	var away *netError
	switch {
	case errors.As(err, &refused):
		status := fmt.Sprintf("%d %s", refused.HTTP, http.StatusText(refused.HTTP))
		return &channel.Fault{Text: w.notFound, Detail: status, Err: err}
	case errors.As(err, &away):
		return &channel.Unreached{Where: a.Host, Err: away.Err}
	}
	return err
}
