package place

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The requests and signatures are those of Amazon's documentation of version 4.
func TestSign_isAsDocumented(t *testing.T) {
	t.Parallel()
	s := signer{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1"}
	server := &url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com"}
	for _, c := range []struct {
		method, path string
		query        url.Values
		header       map[string]string
		body, want   string
	}{
		{http.MethodGet, "test.txt", nil, map[string]string{"Range": "bytes=0-9"}, "",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{http.MethodPut, "test$file.text", nil, map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT",
			"X-Amz-Storage-Class": "REDUCED_REDUNDANCY"}, "Welcome to Amazon S3.",
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{http.MethodGet, "", url.Values{"lifecycle": {""}}, nil, "",
			"fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{http.MethodGet, "", url.Values{"prefix": {"J"}, "max-keys": {"2"}}, nil, "",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		req := &http.Request{Method: c.method, URL: escaped(server, c.path, c.query), Header: http.Header{}}
		for name, value := range c.header {
			req.Header.Set(name, value)
		}
		s.sign(req, sha256.Sum256([]byte(c.body)), time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+c.want) {
			t.Errorf("%s %s: %s, want %s", c.method, req.URL, got, c.want)
		}
	}
}

func TestEscaped_isWhatIsSent(t *testing.T) {
	t.Parallel()
	u := escaped(&url.URL{Scheme: "https", Host: "s3.example.com"}, "b/a c/é+~(1).zst", url.Values{"a b": {"c/d+e"}})
	if got, want := u.String(), "https://s3.example.com/b/a%20c/%C3%A9%2B~%281%29.zst?a%20b=c%2Fd%2Be"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if u.EscapedPath() != "/b/a%20c/%C3%A9%2B~%281%29.zst" {
		t.Errorf("signed is %s", u.EscapedPath())
	}
}
