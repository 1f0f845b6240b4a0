package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/configs/section"
)

// prefix is the prefix of variables of the environment.
const prefix = "EVERTHREAD_"

type leaf struct {
	path  string // such as channels.web.enabled
	value reflect.Value
}

func (l leaf) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(l.path, ".", "_"))
}

func (l leaf) secret() bool { return l.value.Type() == reflect.TypeFor[Secret]() }

type field struct {
	key   string
	value reflect.Value
}

// fields lists the keys of a struct in its order, with sections in the place of their list.
func fields(v reflect.Value) []field {
	var out []field
	for i := range v.NumField() {
		key := v.Type().Field(i).Tag.Get("yaml")
		sections, ok := v.Field(i).Interface().(Sections)
		switch {
		case key == "-":
		case key == ",inline":
			out = append(out, fields(v.Field(i))...)
		case !ok:
			out = append(out, field{key, v.Field(i)})
		}
		for _, s := range sections {
			out = append(out, field{s.Key(), reflect.ValueOf(s).Elem()})
		}
	}
	return out
}

// leaves lists the keys below v, which must be settable, in the order of the structs.
func leaves(v reflect.Value, path string) []leaf {
	if v.Kind() != reflect.Struct {
		return []leaf{{path, v}}
	}
	var out []leaf
	for _, f := range fields(v) {
		out = append(out, leaves(f.value, join(path, f.key))...)
	}
	return out
}

// child returns the field of a struct with this key.
func child(v reflect.Value, key string) (reflect.Value, bool) {
	for _, f := range fields(v) {
		if f.key == key {
			return f.value, true
		}
	}
	return reflect.Value{}, false
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

// Keys lists every key with a value, such as channels.web.enabled.
func (c *Config) Keys() []string {
	var out []string
	for _, l := range leaves(reflect.ValueOf(c).Elem(), "") {
		out = append(out, l.path)
	}
	return out
}

// setDefaults sets the fields below v to the defaults in their tags.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			setDefaults(f)
		} else if text, ok := v.Type().Field(i).Tag.Lookup("default"); ok {
			f.Set(parsed(f.Type(), text))
		}
	}
}

// parsed returns a value in a tag.
func parsed(t reflect.Type, text string) reflect.Value {
	v := reflect.New(t).Elem()
	if err := set(v, text); err != nil {
		panic(err)
	}
	return v
}

// checkRanges checks the numbers below v against the ranges in their tags. Models check their own; see LLM.check.
func checkRanges(p *section.Problems, v reflect.Value, path string) {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		key := join(path, tag.Get("yaml"))
		if f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[LLM]() {
			checkRanges(p, f, key)
		} else if low, high, ok := strings.Cut(tag.Get("range"), ".."); ok {
			checkRange(p, f, key, low, high)
		}
	}
}

func checkRange(p *section.Problems, v reflect.Value, key, low, high string) {
	number := func(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }
	least := parsed(v.Type(), low)
	switch {
	case high == "" && number(v) < number(least):
		p.Add("%s is %v; it must be at least %v", key, v, least)
	case high != "" && (number(v) < number(least) || number(v) > number(parsed(v.Type(), high))):
		p.Add("%s is %v; it must be between %v and %v", key, v, least, parsed(v.Type(), high))
	}
}

// set parses a scalar of a file, the environment or a tag into a value; a list has commas.
// The error completes "KEY must be …" and does not repeat secrets.
func set(v reflect.Value, text string) error {
	switch v.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write it like 700ms, 10m or 48h", text)
		}
		v.SetInt(int64(d))
		return nil
	case Size:
		n, err := parseSize(text)
		v.SetInt(int64(n))
		return err
	case []string:
		v.Set(reflect.ValueOf(list(text)))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Bool:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(yes)
		return nil
	case reflect.Int:
		n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		v.SetInt(int64(n))
		return nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != f {
			return fmt.Errorf("%q is not a number", text)
		}
		v.SetFloat(f)
		return nil
	}
	return fmt.Errorf("a single value does not fit here")
}

// units of sizes, longest first.
const units = "KiB MiB GiB KB MB GB B"

func parseSize(text string) (Size, error) {
	factor := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1e6, "GB": 1e9, "B": 1}
	number, by := strings.TrimSpace(text), int64(1)
	for _, unit := range strings.Fields(units) {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, by = strings.TrimSpace(rest), factor[unit]
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > 1<<50/by || n < -1<<50/by {
		return 0, fmt.Errorf("%q is not a size; write it like 20MiB or 20971520", text)
	}
	return Size(n * by), nil
}

// String returns the size with the largest binary unit that divides it.
func (s Size) String() string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := Size(1) << (30 - 10*i); s != 0 && s%size == 0 {
			return strconv.FormatInt(int64(s/size), 10) + unit
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Rounded returns the size rounded up to a unit that leaves at most four digits.
func (s Size) Rounded() Size {
	unit := Size(1)
	for s/unit >= 10<<10 {
		unit <<= 10
	}
	return (s + unit - 1) / unit * unit
}

// nearest returns the known word that text most likely means; empty: none is near.
func nearest(text string, known []string) string {
	best, far := "", max(3, len(text)/3+1)
	for _, k := range known {
		if d := distance(text, k); d < far {
			best, far = k, d
		}
	}
	return best
}

// distance counts the insertions, removals, replacements and swaps of neighbours that make a into b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// hint completes an error about an unknown word.
func hint(text string, known []string) string {
	if n := nearest(text, known); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

func siblings(v reflect.Value) []string {
	var out []string
	for _, f := range fields(v) {
		out = append(out, f.key)
	}
	slices.Sort(out)
	return out
}
