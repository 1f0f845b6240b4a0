package command

import (
	"strings"
	"time"
)

// Zones lists every time zone that a person can choose, in the order of the
// alphabet.
func Zones() []string { return strings.Fields(zoneNames) }

// Zone returns the name of the zone that a person means by s: its IANA name, or
// a city. False: there is none, or there are several.
func Zone(s string, now time.Time) (string, bool) {
	name, _, ok := findZone(s, now)
	return name, ok
}

// NearZones returns at most three zones that s may mean, likeliest first.
func NearZones(s string) []string { return suggestZones(s) }
