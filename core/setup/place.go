package setup

import (
	"path/filepath"
	"strings"
	"time"
)

// Zone is the time zone of a machine: what TZ says, else where local, as
// /etc/localtime, leads to; empty: it is not known.
func Zone(get func(name string) string, local string) string {
	zone := strings.TrimPrefix(get("TZ"), ":")
	if zone == "" {
		to, err := filepath.EvalSymlinks(local)
		if err != nil {
			return ""
		}
		_, zone, _ = strings.Cut(filepath.ToSlash(to), "zoneinfo/")
	}
	if _, err := time.LoadLocation(zone); err != nil || zone == "" || zone == "Local" || filepath.IsAbs(zone) {
		return ""
	}
	return zone
}
