package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
)

// Setup changes the configuration of the gateway for its owner. What is saved is in force within seconds.
type Setup interface {
	// Parts lists what can be set, in the order in which a new owner sets it. It tries nothing.
	Parts(lang string) []Part
	// Nearby looks for servers of models on this machine, briefly.
	Nearby(ctx context.Context) []Found
	// Test checks a part as it would be with answers, and stores nothing.
	Test(ctx context.Context, a Answers) Tested
	// Save stores answers, if Test finds nothing wrong with them or force is set.
	Save(ctx context.Context, a Answers, force bool) (Tested, error)
	// Scan makes a code for the person's phone, which sets up a part with Scan; answers has the rest. What comes of it is
	// saved. An error is a sentence for the person.
	Scan(ctx context.Context, a Answers) (Scan, error)
	// Scanned reports whether the code of a Scan of this process has set up its part.
	Scanned(id string) bool
	// Remove removes the values of a part, or one of its items, for a user.
	Remove(ctx context.Context, user core.UserID, part, item string) error
	// Settings lists every key that is set, with where.
	Settings() []Field
	// Fault says why what is stored is not in force; empty: it is.
	Fault() string
	// Seal encrypts typed secrets of a part for its page, and Unseal returns them, by the keys of their fields. Unseal
	// returns nil for what Seal did not make for this part.
	Seal(part string, secrets map[string]string) (string, error)
	Unseal(part, sealed string) map[string]string
	// File returns what is stored as a configuration file without secrets.
	File(ctx context.Context) ([]byte, error)
}

// Part is what is set on one page: values, or a list of items.
type Part struct {
	Key      string
	Title    string
	Lead     string
	On       bool // something is set
	Fields   []Field
	Items    []Item
	New      []Field // of a new item; nil: the part is no list
	Channel  string  // that it sets up; empty: none
	Fixed    string  // the variable or file that sets all of it; empty: the page can change it
	Optional bool    // it can be removed
	Scan     bool    // the person's phone can set it up, by a code
	Scanned  string  // what it has set up; empty: nothing
}

// Scan is a code for a phone, and what to do with it there.
type Scan struct{ ID, Code, Help string }

// Item is one of a part's list.
type Item struct {
	Name   string
	Fields []Field
}

// Field is a value, and where it comes from.
type Field struct {
	Key         string // in the configuration, or in an item
	Label, Help string
	Secret      bool
	Options     []string // it is one of them; nil: any text
	Offers      []string // proposed texts
	Value       string   // empty for a secret
	Set         bool
	More        bool   // few people need it
	From        string // the variable or file that fixes it; empty: the page can set it
}

// Answers are what was typed for a part, by the keys of its fields. An empty secret stays as it is.
type Answers struct {
	User       core.UserID // who typed them
	Part, Item string      // Item is the name of a list's item
	Lang       string
	Values     map[string]string
}

// Tested is the result of a test: Wrong, or what it found.
type Tested struct {
	Wrong  string
	Said   string
	Offers map[string][]string // texts that a field can have, by its key
}

// Found is a server of models on this machine.
type Found struct {
	Name, URL string
	Models    []string
}

func (r *Room) setupRoutes() []web.Route {
	all := []web.Route{
		{Pattern: "GET /setup", Serve: r.setupPage, Tab: &web.Tab{
			Name: func(lang string) string { return say(lang).Setup.Title }, Key: "u", InMenu: true}},
		{Pattern: "GET /setup/file", Serve: r.setupFile},
		{Pattern: "GET /setup/{part}", Serve: r.setupPart},
		{Pattern: "GET /setup/{part}/scanned", Serve: r.scanned},
		{Pattern: "POST /setup/{part}", Serve: r.changePart},
	}
	for i := range all {
		all[i].Owner = true
	}
	return all
}

func (r *Room) setupPage(v *web.Visit) error {
	return v.Page("setups", say(v.Lang).Setup.Title, map[string]any{"Parts": r.Setup.Parts(v.Lang),
		"Settings": r.Setup.Settings(), "Fault": r.Setup.Fault()})
}

// partView is the page of a part. Tested is what a test said of answers that were not saved, of the item of this name.
type partView struct {
	Part
	Nearby []Found
	Tested *Tested
	Item   string
	First  bool   // the owner is new
	Saved  bool   // a channel was just saved, and is to be connected
	Sealed string // the secrets that were tested
}

// NewName is the name that was typed for a new item.
func (p partView) NewName() string {
	if slices.ContainsFunc(p.Items, func(i Item) bool { return i.Name == p.Item }) {
		return ""
	}
	return p.Item
}

// HasMore reports whether there are fields that few people need.
func (p partView) HasMore(fields []Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.More })
}

// Skip is where a new owner goes on without this part.
func (p partView) Skip() string {
	if p.Channel != "" {
		return "/"
	}
	return firstChannel
}

// firstChannel is the part that a new owner sets after the model.
const firstChannel = "/setup/channel-telegram?first=1"

func (r *Room) part(v *web.Visit) (Part, []Part, error) {
	parts := r.Setup.Parts(v.Lang)
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Key == v.R.PathValue("part") })
	if i < 0 {
		return Part{}, nil, core.ErrNotFound
	}
	return parts[i], parts, nil
}

func (r *Room) setupPart(v *web.Visit) error {
	p, _, err := r.part(v)
	if err != nil {
		return err
	}
	asked := v.R.URL.Query()
	page := partView{Part: p, First: asked.Has("first"), Saved: asked.Has("saved") && p.Channel != ""}
	if p.Key == "model" && !p.On {
		page.Nearby = r.Setup.Nearby(v.Context())
		if chosen := asked.Get("server"); chosen != "" {
			page.fill(page.Nearby, chosen)
		}
	}
	return v.Page("setup", p.Title, page)
}

// fill proposes a server that was found.
func (p *partView) fill(nearby []Found, address string) {
	i := slices.IndexFunc(nearby, func(f Found) bool { return f.URL == address })
	if i < 0 {
		return
	}
	found := nearby[i]
	p.set("llm.provider", "openai", nil)
	p.set("llm.base_url", found.URL, nil)
	if len(found.Models) > 0 {
		p.set("llm.model", found.Models[0], found.Models)
	}
}

// set shows a value that is not stored, and the texts that are offered beside it.
func (p *partView) set(key, value string, offers []string) {
	for i := range p.Fields {
		if f := &p.Fields[i]; f.Key == key && f.From == "" {
			f.Value, f.Offers = value, offers
		}
	}
}

// changePart tests, saves or removes a part.
func (r *Room) changePart(v *web.Visit) error {
	p, _, err := r.part(v)
	if err != nil {
		return err
	}
	if p.Fixed != "" {
		return web.Because(http.StatusConflict, fmt.Sprintf(say(v.Lang).Setup.FixedBy, p.Fixed))
	}
	form := v.R.PostForm
	a := Answers{User: v.User.ID, Part: p.Key, Item: strings.TrimSpace(form.Get("item")), Lang: v.Lang, Values: map[string]string{}}
	before := r.Setup.Unseal(p.Key, form.Get("sealed"))
	for _, f := range p.fields() {
		if _, given := form[f.Key]; given && f.From == "" {
			a.Values[f.Key] = strings.TrimSpace(form.Get(f.Key))
			if err := v.Within(mostTyped, a.Values[f.Key]); err != nil {
				return err
			}
			if f.Secret {
				a.Values[f.Key] = cmp.Or(a.Values[f.Key], before[f.Key])
			}
		}
	}
	w := say(v.Lang).Setup
	if form.Get("do") == "remove" {
		if err := r.Setup.Remove(v.Context(), v.User.ID, p.Key, a.Item); err != nil {
			return r.notSaved(err)
		}
		return v.Back("/setup/"+url.PathEscape(p.Key), w.Removed)
	}
	return r.alone(v, func(ctx context.Context) error {
		if form.Get("do") == "scan" && p.Scan {
			return r.scan(ctx, v, p, a)
		}
		if form.Get("do") == "test" {
			return r.tested(v, p, a, r.Setup.Test(ctx, a))
		}
		t, err := r.Setup.Save(ctx, a, form.Get("do") == "force")
		if err != nil {
			return r.notSaved(err)
		}
		if t.Wrong != "" {
			return r.tested(v, p, a, t)
		}
		said := strings.TrimRight(t.Said, ". ")
		if said != "" {
			said += ". "
		}
		return v.Back(after(p, form.Has("first")), said+w.Saved)
	})
}

// scanView is the page with a code. Values are what was typed for the rest of the part, without secrets.
type scanView struct {
	Part
	Scan
	Values map[string]string
	QR     template.HTML
}

// scan shows a code for the person's phone.
func (r *Room) scan(ctx context.Context, v *web.Visit, p Part, a Answers) error {
	code, err := r.Setup.Scan(ctx, a)
	if err != nil {
		return r.tested(v, p, a, Tested{Wrong: err.Error()})
	}
	page := scanView{Part: p, Scan: code, Values: map[string]string{}}
	for _, f := range p.fields() {
		if typed := a.Values[f.Key]; !f.Secret && typed != "" {
			page.Values[f.Key] = typed
		}
	}
	if page.QR, err = qrSVG(code.Code); err != nil {
		return err
	}
	return v.Page("scan", p.Title, page)
}

// scanned answers 200 once a code has set up its part, else 204.
func (r *Room) scanned(v *web.Visit) error {
	p, _, err := r.part(v)
	if err != nil {
		return err
	}
	asked := v.R.URL.Query()
	if !r.Setup.Scanned(asked.Get("id")) && (p.Scanned == "" || p.Scanned == asked.Get("had")) {
		v.W.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// fields returns the fields of an answer.
func (p Part) fields() []Field {
	if p.New != nil {
		return p.New
	}
	return p.Fields
}

// after returns where a part leads when it is saved: a new owner goes on to the first channel.
func after(p Part, first bool) string {
	switch {
	case p.Channel != "":
		return "/setup/" + url.PathEscape(p.Key) + "?saved=1"
	case first:
		return firstChannel
	}
	return "/setup/" + url.PathEscape(p.Key)
}

// notSaved tells why something was not saved, in the words of the configuration.
func (r *Room) notSaved(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return web.Because(http.StatusUnprocessableEntity, err.Error())
}

// tested shows what a test said, with what was typed; its secrets are sealed.
func (r *Room) tested(v *web.Visit, p Part, a Answers, t Tested) (err error) {
	secrets := map[string]string{}
	for _, f := range p.fields() {
		if typed := a.Values[f.Key]; f.Secret && typed != "" {
			secrets[f.Key] = typed
		}
	}
	page := partView{Part: p, Tested: &t, Item: a.Item, First: v.R.PostForm.Has("first")}
	show := func(fields []Field) []Field {
		fields = slices.Clone(fields)
		for i := range fields {
			f := &fields[i]
			if typed, ok := a.Values[f.Key]; ok && !f.Secret {
				f.Value = typed
			}
			f.Offers, f.Set = t.Offers[f.Key], f.Set || secrets[f.Key] != ""
		}
		return fields
	}
	page.Fields = show(p.Fields)
	if i := slices.IndexFunc(p.Items, func(i Item) bool { return i.Name == a.Item }); i >= 0 {
		page.Items = slices.Clone(p.Items)
		page.Items[i].Fields = show(p.Items[i].Fields)
	} else {
		page.New = show(p.New)
	}
	if page.Sealed, err = r.Setup.Seal(p.Key, secrets); err != nil {
		return err
	}
	return v.Page("setup", p.Title, page)
}

// setupFile offers what is stored as a file.
func (r *Room) setupFile(v *web.Visit) error {
	text, err := r.Setup.File(v.Context())
	if err != nil {
		return err
	}
	h := v.W.Header()
	h.Set("Content-Type", "application/yaml; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="everthread.yaml"`)
	_, _ = v.W.Write(text) // an error means the client is gone
	return nil
}

type setupWords struct {
	Title, Lead, On, Off, InForce, InForceLead, Export, ExportHint, Nearby, NearbyUse, Test, Save, Force, ForceHint, Remove,
	RemoveHint, RemoveDo, Removed, Saved, SecretSet, SecretNew, Add, Name, Unset, FirstLead, Skip, Page, Default,
	Connect, ConnectLead, More, Scan, ScanAgain, ScanDone, ScanNext string
	FixedBy string // the file or the variable
	Fault   string // the error
	Wrong   string // the error
}
