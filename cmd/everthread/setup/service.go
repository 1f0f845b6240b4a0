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
	User                          string // whose service it is; of the machine only
}

// Unit is a unit for systemd.
func (s Service) Unit() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by `everthread init`.\n[Unit]\nDescription=Everthread, one continuous conversation over all channels\nWants=network-online.target\nAfter=network-online.target\n\n")
	fmt.Fprintf(&b, "[Service]\nType=exec\nExecStart=%s serve --config %s\nWorkingDirectory=%s\n", argument(s.Program), argument(s.Config), path(s.Folder))
	if s.System {
		fmt.Fprintf(&b, "User=%s\nProtectSystem=strict\nReadWritePaths=%s\nPrivateTmp=yes\nPrivateDevices=yes\n", s.User, argument(s.Data))
	}
	b.WriteString("Restart=always\nRestartSec=2s\nKillSignal=SIGTERM\nTimeoutStopSec=15s\nUMask=0077\nNoNewPrivileges=yes\n\n[Install]\n")
	if s.System {
		b.WriteString("WantedBy=multi-user.target\n")
	} else {
		b.WriteString("WantedBy=default.target\n")
	}
	return b.String()
}

// path is a path as systemd reads it.
func path(text string) string { return strings.ReplaceAll(text, "%", "%%") }

// argument is a part of a command line as systemd reads it.
func argument(text string) string {
	text = strings.ReplaceAll(path(text), "$", "$$")
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
