package channel

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// bodyPatience bounds how long a body may take to arrive.
const bodyPatience = 10 * time.Second

// ReadBody reads the body of a request, of at most most bytes. If it is too large, too slow or cut off, ReadBody answers
// the request and returns false.
func ReadBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, bool) {
	return readBody(w, r, most, bodyPatience)
}

func readBody(w http.ResponseWriter, r *http.Request, most int64, patience time.Duration) ([]byte, bool) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(patience)) // only tests have a connection without one
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err == nil {
		_ = connection.SetReadDeadline(time.Time{})
		return body, true
	}
	w.Header().Set("Connection", "close")
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "body too slow", http.StatusRequestTimeout)
	default:
		http.Error(w, "body cut off", http.StatusBadRequest)
	}
	return nil, false
}
