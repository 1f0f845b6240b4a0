package setup

import (
	"fmt"
	"strings"
)

// Service is what a service file is made of. All paths are absolute.
type Service struct {
	Program, Config, Folder, Data string
	Port                          string // of the page
	UID, GID                      int
	System                        bool   // of the machine, else of the person
	User                          string // whose it is
}

// path is a path as systemd reads it.
func path(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// argument is a part of a command line as systemd reads it.
func argument(text string) string { return word(strings.ReplaceAll(text, "$", "$$")) }

// word is one of several values as systemd reads them.
func word(text string) string {
	text = path(text)
	if !strings.ContainsAny(text, " \t\"'\\") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Compose is a file for Docker Compose. The container is who made the
// configuration, so that it can be read.
func (s Service) Compose() string {
	return fmt.Sprintf(`# Made by `+"`everthread init`"+`. The image: docker build -t everthread . in the source folder.
services:
  everthread:
    image: everthread
    command: [serve, --config, /etc/everthread.yaml]
    user: "%d:%d"
    restart: unless-stopped
    environment:
      EVERTHREAD_DATA_DIR: /data
      EVERTHREAD_HTTP_LISTEN: 0.0.0.0:8080
      EVERTHREAD_HTTP_PUBLIC_URL: http://127.0.0.1:%s
    volumes:
      - {type: bind, source: %s, target: /etc/everthread.yaml, read_only: true}
      - {type: bind, source: %s, target: /data}
    ports: ["127.0.0.1:%s:8080"]
    stop_grace_period: 15s
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
`, s.UID, s.GID, s.Port, dollars(quoted(s.Config)), dollars(quoted(s.Data)), s.Port)
}

// dollars keeps Compose from reading variables out of a text.
func dollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }
