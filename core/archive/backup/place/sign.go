package place

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// signer signs requests to a store by version 4 of Amazon's signatures.
type signer struct{ access, secret, region string }

// Forms of times in a signature.
const (
	signedTime = "20060102T150405Z"
	signedDay  = "20060102"
)

// sign signs a request with all its headers, whose body has the SHA-256 sum. Its URL is as escaped writes it.
func (s signer) sign(req *http.Request, sum [sha256.Size]byte, now time.Time) {
	now = now.UTC()
	req.Header.Set("X-Amz-Date", now.Format(signedTime))
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	values := map[string]string{"host": req.URL.Host}
	for name := range req.Header {
		values[strings.ToLower(name)] = strings.TrimSpace(req.Header.Get(name))
	}
	names := slices.Sorted(maps.Keys(values))
	headers := ""
	for _, name := range names {
		headers += name + ":" + values[name] + "\n"
	}
	signed := strings.Join(names, ";")
	request := strings.Join([]string{req.Method, req.URL.EscapedPath(), req.URL.RawQuery, headers, signed,
		hex.EncodeToString(sum[:])}, "\n")
	hashed := sha256.Sum256([]byte(request))
	scope := now.Format(signedDay) + "/" + s.region + "/s3/aws4_request"
	text := strings.Join([]string{"AWS4-HMAC-SHA256", now.Format(signedTime), scope, hex.EncodeToString(hashed[:])}, "\n")
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{now.Format(signedDay), s.region, "s3", "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		s.access, scope, signed, hex.EncodeToString(key)))
}

// escaped returns the URL of a path and a query on a server, written in the one way that is signed.
func escaped(server *url.URL, path string, query url.Values) *url.URL {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(p), "+", "%20")
	}
	return &url.URL{Scheme: server.Scheme, Host: server.Host, Path: "/" + path, RawPath: "/" + strings.Join(parts, "/"),
		RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}
}
