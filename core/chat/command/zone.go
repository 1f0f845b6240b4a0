package command

import (
	"cmp"
	_ "embed" // zones.txt, cities.txt
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everthread/everthread/core/text"
)

// zoneNames lists every zone of the IANA database, one a line.
//
//go:embed zones.txt
var zoneNames string

// cityNames holds the cities without a zone of their name, by their zones.
//
//go:embed cities.txt
var cityNames string

// zoneKeys maps every way to write a zone, folded, to the zones that it means: full names, their last parts and cities.
var zoneKeys = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	add := func(key, zone string) {
		if !slices.Contains(out[key], zone) {
			out[key] = append(out[key], zone)
		}
	}
	for _, zone := range Zones() {
		add(zoneKey(zone), zone)
	}
	for _, zone := range Zones() {
		add(zoneKey(zone[strings.LastIndexByte(zone, '/')+1:]), zone)
	}
	for zone, cities := range text.Lists(cityNames) {
		for _, city := range cities {
			add(city, zone)
		}
	}
	return out
})

// zoneKey returns the form of a zone's name that is compared.
func zoneKey(s string) string {
	return text.OneLine(strings.NewReplacer("_", " ", "-", " ").Replace(text.Fold(s)))
}

// findZone returns the zone that s names, by its full name or by a city. Zones with the same
// name and the same clock in now's year are equivalent.
func findZone(s string, now time.Time) (string, *time.Location, bool) {
	found := zoneKeys()[zoneKey(s)]
	if len(found) == 0 {
		return "", nil, false
	}
	first, err := time.LoadLocation(found[0])
	if err != nil {
		return "", nil, false
	}
	if strings.EqualFold(zoneKey(found[0]), zoneKey(s)) { // a full name
		return found[0], first, true
	}
	for _, other := range found[1:] {
		if l, err := time.LoadLocation(other); err != nil || !sameClock(first, l, now) {
			return "", nil, false
		}
	}
	return found[0], first, true
}

// sameClock reports whether two zones have the same time now and in half a year.
func sameClock(a, b *time.Location, now time.Time) bool {
	for _, t := range []time.Time{now, now.AddDate(0, 6, 0)} {
		_, x := t.In(a).Zone()
		_, y := t.In(b).Zone()
		if x != y {
			return false
		}
	}
	return true
}

// Zones lists every time zone that a person can choose, in alphabetical order.
func Zones() []string { return strings.Fields(zoneNames) }

// Zone returns the name of the zone that s names: its IANA name, or a city. It returns false
// if there is none, or if there are several.
func Zone(s string, now time.Time) (string, bool) {
	name, _, ok := findZone(s, now)
	return name, ok
}

// NearZones returns at most three zones with names similar to s, the most similar first.
func NearZones(s string) []string {
	type hit struct {
		zone string
		d    int
	}
	key := text.Shorten(zoneKey(s), 40)
	var hits []hit
	far := 2 + len(key)/4
	for k, zones := range zoneKeys() {
		if len(k)-len(key) >= far || len(key)-len(k) >= far {
			continue
		}
		if d := distance(key, k); d < far {
			for _, z := range zones {
				hits = append(hits, hit{z, d})
			}
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(a.d-b.d, strings.Compare(a.zone, b.zone)) })
	var out []string
	for _, h := range hits {
		if !slices.Contains(out, h.zone) && len(out) < 3 {
			out = append(out, h.zone)
		}
	}
	return out
}
