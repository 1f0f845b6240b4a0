package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/oauth2"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/trust/egress"
)

const (
	early     = time.Minute      // before their end tokens are renewed
	renewTime = 20 * time.Second // for a renewal
	renewing  = 30 * time.Second // after which another process may try it
	lookAgain = 50 * time.Millisecond
)

// Access returns a token that a user granted for a service, and the id of the grant. A token that the service refused,
// or whose time ends, is renewed first. core.ErrNotFound: the user has not granted access, or it has ended; the person
// was told so once.
func (s *Services) Access(ctx context.Context, user core.UserID, name, refused string) (token string, grant int64,
	err error) {
	for {
		g, err := s.Store.ServiceGrant(ctx, user, name)
		if err != nil {
			return "", 0, err
		}
		var t tokens
		if err := s.open(SealedAs(name), g.Sealed, &t); err != nil {
			return "", 0, err
		}
		if !s.configured(name, t.URL) { // it is for another address
			return "", 0, s.end(ctx, g, "the address of the service was changed")
		}
		now := s.Now()
		stale := !g.Expires.IsZero() && !now.Before(g.Expires.Add(-early))
		switch {
		case t.Access != refused && !stale:
			return t.Access, g.ID, nil
		case t.Refresh == "" && t.Access != refused && now.Before(g.Expires):
			return t.Access, g.ID, nil
		case t.Refresh == "":
			return "", 0, s.end(ctx, g, "its token has ended, and cannot be renewed")
		}
		took, err := s.Store.TakeServiceGrant(ctx, g, now, now.Add(renewing))
		if err != nil {
			return "", 0, err
		}
		if took {
			return s.renew(ctx, g, t, refused)
		}
		select { // another call or process renews it
		case <-ctx.Done():
			return "", 0, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// configured reports whether a service has an address.
func (s *Services) configured(name, address string) bool {
	for _, one := range s.Services {
		if one.Name == name {
			return one.URL == address
		}
	}
	return false
}

// renew renews the tokens of a taken grant. It does not end with ctx: the answer may be the only copy of the next token.
func (s *Services) renew(ctx context.Context, g store.ServiceGrant, t tokens, refused string) (string, int64, error) {
	ctx, cancel := context.WithTimeout(egress.For(context.WithoutCancel(ctx), g.User), renewTime)
	defer cancel()
	got, err := t.config().Exchange(s.dialers[g.Service].trading(ctx), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", t.Refresh), oauth2.SetAuthURLParam("resource", t.Resource))
	if err == nil {
		err = t.take(got)
	}
	var said *oauth2.RetrieveError
	switch {
	case errors.As(err, &said) && (said.ErrorCode == "invalid_grant" || said.ErrorCode == "invalid_client"):
		return "", 0, s.end(ctx, g, "the authorization server says "+said.ErrorCode)
	case err != nil:
		err = fmt.Errorf("renew the access to %s: %s", g.Service, told(err))
		if free := s.Store.FreeServiceGrant(ctx, g); free != nil {
			err = errors.Join(err, free)
		}
		if t.Access != refused && s.Now().Before(g.Expires) { // the old one still has time
			s.Log.Warn("access to a service not renewed yet", zap.String("service", g.Service), zap.Error(err))
			return t.Access, g.ID, nil
		}
		return "", 0, err
	}
	if g.Sealed, err = s.seal(SealedAs(g.Service), t); err != nil {
		return "", 0, err
	}
	g.Expires = s.until(got)
	if err = s.Store.RenewServiceGrant(ctx, g); errors.Is(err, core.ErrNotFound) { // it ended meanwhile
		_ = s.revoke(ctx, held{g.Service, t, g})
		return "", 0, err
	}
	return t.Access, g.ID, err
}

// end deletes a grant that the service no longer accepts, tells its person, and returns core.ErrNotFound.
func (s *Services) end(ctx context.Context, g store.ServiceGrant, cause string) error {
	dropped, err := s.Store.DropServiceGrant(ctx, g)
	if err != nil {
		return err
	}
	if dropped {
		s.Log.Warn("access to a service has ended", zap.String("service", g.Service), zap.Int64("user", int64(g.User)),
			zap.String("cause", cause))
		if err := s.tell(ctx, g); err != nil {
			s.Log.Warn("a person was not told that access to a service has ended", zap.Int64("user", int64(g.User)),
				zap.Error(err))
		}
	}
	return core.ErrNotFound
}

// revokeTime bounds a revocation.
const revokeTime = 5 * time.Second

// revoke revokes a grant at its authorization server (RFC 7009).
func (s *Services) revoke(ctx context.Context, h held) error {
	d, t := s.dialers[h.service], h.tokens
	if t.RevokeURL == "" || d == nil {
		return errors.New("it has no way to revoke")
	}
	ctx, cancel := context.WithTimeout(egress.For(context.WithoutCancel(ctx), h.grant.User), revokeTime)
	defer cancel()
	token, kind := t.Refresh, "refresh_token"
	if token == "" {
		token, kind = t.Access, "access_token"
	}
	form := url.Values{"token": {token}, "token_type_hint": {kind}}
	if t.Style == oauth2.AuthStyleInParams {
		form.Set("client_id", t.ClientID)
		if t.ClientSecret != "" {
			form.Set("client_secret", t.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if t.Style == oauth2.AuthStyleInHeader {
		req.SetBasicAuth(url.QueryEscape(t.ClientID), url.QueryEscape(t.ClientSecret))
	}
	resp, err := d.post.Do(req)
	if err == nil {
		_ = resp.Body.Close() // its words do not matter
		if resp.StatusCode >= 300 {
			err = fmt.Errorf("it answered %s", resp.Status)
		}
	}
	if err != nil {
		s.Log.Warn("access to a service was not revoked there", zap.String("service", h.service),
			zap.String("cause", told(err)))
	}
	return err
}
