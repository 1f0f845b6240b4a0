package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/trust/egress"
	"github.com/everthread/everthread/core/words"
)

// Embeddings are the models that texts are found by their meaning with.
type Embeddings interface {
	// System names the configuration that holds for everybody; empty: everybody may
	// have their own.
	System() string
	// Name names the configuration whose vectors count for a user; empty: none.
	Name(ctx context.Context, user core.UserID) (string, error)
	// Open makes the embedder of a choice. It makes no request, and neither does the
	// embedder to addresses of the gateway's own network (SPEC 17).
	Open(c core.OwnEmbeddings) (core.Embedder, error)
	// Seal encrypts a key as it stands in a choice; empty for none.
	Seal(key string) (string, error)
}

func (c *Channel) embeddingRoutes() []route {
	if c.Settings.Embeddings == nil || c.Settings.Embeddings.System() != "" {
		return nil
	}
	return []route{{Pattern: "POST /settings/embeddings", Serve: (*visit).setEmbeddings}}
}

// meaningView is the section about search by meaning.
type meaningView struct {
	System, Counts string
	Set            bool // the person has one
	Form           meaningForm
	Providers      []choice
	Tried          string // the endpoint works, and how
	Count          string // of texts that would be embedded again; not empty: it is asked
}

// meaningForm is a choice as a form holds it. Sealed is a key that was typed before.
type meaningForm struct {
	Provider, BaseURL, Model, Dimensions, Sealed string
	Kept                                         bool // a key is stored, and goes with this address
}

func (v *visit) fillMeaning(page *settingsView) error {
	e := v.Settings.Embeddings
	if e == nil {
		return nil
	}
	p := &page.Meaning
	p.System = e.System()
	var err error
	if p.Counts, err = v.vectors(); err != nil {
		return err
	}
	own := v.user.Settings.Embeddings
	p.Set = own.Provider != ""
	if p.Form == (meaningForm{}) {
		p.Form = meaningForm{Provider: own.Provider, BaseURL: own.BaseURL, Model: own.Model, Kept: own.Sealed != ""}
		if own.Dimensions > 0 {
			p.Form.Dimensions = strconv.Itoa(own.Dimensions)
		}
	}
	w := v.words.Settings
	p.Providers = []choice{{Value: embed.OpenAI, Name: w.ProviderOpenAI}, {Value: embed.Ollama, Name: "Ollama"},
		{Value: embed.LlamaCPP, Name: "llama.cpp"}, {Value: embed.CustomHTTP, Name: w.ProviderCustom}}
	mark(p.Providers, p.Form.Provider)
	return nil
}

// setEmbeddings tries, saves or removes a person's own embedding model. Saving
// another one makes all vectors again, so it is asked with their number first.
func (v *visit) setEmbeddings() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	do := v.r.PostForm.Get("do")
	if do == "clear" {
		s := v.user.Settings
		s.Embeddings = core.OwnEmbeddings{}
		return v.change("embeddings", v.words.Settings.MeaningOff, core.SetSettings{Settings: s})
	}
	c, form, wrong, err := v.readMeaning()
	if err != nil {
		return err
	}
	page := settingsView{Meaning: meaningView{Form: form}}
	if wrong != nil {
		return v.wrong(*wrong, page)
	}
	if do == "confirm" {
		return v.saveMeaning(c)
	}
	dimensions, took, err := v.tryMeaning(c)
	if err != nil {
		return v.wrong(problem{"embeddings", "endpoint", v.explainMeaning(err)}, page)
	}
	page.Meaning.Tried = fmt.Sprintf(v.words.Settings.MeaningWorks, words.Number(v.lang, dimensions),
		words.Number(v.lang, int(took.Milliseconds())))
	if do != "save" {
		return v.showSettings(http.StatusOK, page)
	}
	n, err := v.renewed(c)
	if err != nil {
		return err
	}
	if n == 0 {
		return v.saveMeaning(c)
	}
	page.Meaning.Count = v.words.Settings.MeaningAsk.Of(n)
	return v.showSettings(http.StatusOK, page)
}

// readMeaning reads the form. A stored key goes with the address that it was
// stored for, and with no other.
func (v *visit) readMeaning() (c core.OwnEmbeddings, form meaningForm, wrong *problem, err error) {
	f, w := v.r.PostForm, v.words.Settings
	field := func(name string) string { return strings.TrimSpace(short(f.Get(name), 2000)) }
	form = meaningForm{Provider: field("provider"), BaseURL: field("base_url"), Model: field("model"),
		Dimensions: field("dimensions"), Sealed: field("sealed")}
	c = core.OwnEmbeddings{Provider: form.Provider, BaseURL: form.BaseURL, Model: form.Model}
	if form.Dimensions != "" {
		if c.Dimensions, err = strconv.Atoi(form.Dimensions); err != nil || c.Dimensions < 0 ||
			c.Dimensions > core.VectorSize {
			return c, form, &problem{"embeddings", "dimensions",
				fmt.Sprintf(w.DimensionsWrong, words.Number(v.lang, core.VectorSize))}, nil
		}
	}
	switch {
	case !slices.Contains([]string{embed.OpenAI, embed.Ollama, embed.LlamaCPP, embed.CustomHTTP}, c.Provider):
		return c, form, &problem{"embeddings", "provider", w.ProviderMissing}, nil
	case c.Model == "" && (c.Provider == embed.OpenAI || c.Provider == embed.Ollama):
		return c, form, &problem{"embeddings", "model", w.ModelMissing}, nil
	case c.BaseURL == "" && c.Provider != embed.OpenAI:
		return c, form, &problem{"embeddings", "base_url", w.AddressMissing}, nil
	}
	if key := field("key"); key != "" {
		if form.Sealed, err = v.Settings.Embeddings.Seal(key); err != nil {
			return c, form, nil, fmt.Errorf("encrypt the key: %w", err)
		}
	}
	own := v.user.Settings.Embeddings
	c.Sealed = form.Sealed
	if c.Sealed == "" && own.Provider == c.Provider && own.BaseURL == c.BaseURL {
		c.Sealed, form.Kept = own.Sealed, own.Sealed != ""
	}
	return c, form, nil, nil
}

// tryMeaning embeds two sentences.
func (v *visit) tryMeaning(c core.OwnEmbeddings) (dimensions int, took time.Duration, err error) {
	e, err := v.Settings.Embeddings.Open(c)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(egress.For(v.ctx(), v.user.ID), checkTime)
	defer cancel()
	start := v.Now()
	dimensions, err = embed.Check(ctx, e)
	return dimensions, v.Now().Sub(start), err
}

// explainMeaning says in words why an endpoint does not work.
func (v *visit) explainMeaning(err error) string {
	w := v.words.Settings
	var model *core.ModelError
	var spent *egress.QuotaError
	switch {
	case errors.Is(err, egress.ErrPrivate):
		return w.MeaningPrivate
	case errors.Is(err, egress.ErrUnlisted):
		return w.MeaningUnlisted
	case errors.As(err, &spent):
		return w.MeaningSpent
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf(w.MeaningSlow, words.Number(v.lang, int(checkTime.Seconds())))
	case errors.As(err, &model):
		advice := map[core.ModelErrorKind]string{core.ModelDown: w.MeaningDown, core.ModelBusy: w.MeaningBusy,
			core.ModelAuth: w.MeaningAuth, core.ModelConfig: w.MeaningConfig}[model.Kind]
		return strings.TrimSpace(cmp.Or(advice, w.MeaningFails) + " " + fmt.Sprintf(w.Detail, model.Err.Error()))
	}
	return w.MeaningFails + " " + fmt.Sprintf(w.Detail, err.Error())
}

// renewed is how many texts would be embedded again for a choice.
func (v *visit) renewed(c core.OwnEmbeddings) (int, error) {
	now, err := v.Settings.Embeddings.Name(v.ctx(), v.user.ID)
	next := embed.Config(c.Provider, c.Model, c.Dimensions)
	if err == nil && now == next {
		return 0, nil
	}
	n, err := v.Settings.Store.Reembed(v.ctx(), v.user.ID, next, true, v.now)
	if err != nil {
		return 0, fmt.Errorf("count what is embedded: %w", err)
	}
	return n, nil
}

// saveMeaning keeps a choice and, if it is another model, has everything embedded.
func (v *visit) saveMeaning(c core.OwnEmbeddings) error {
	n, err := v.renewed(c)
	if err != nil {
		return err
	}
	s := v.user.Settings
	s.Embeddings = c
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.SetSettings{Settings: s}); err != nil {
		return refusal(fmt.Errorf("change settings: %w", err))
	}
	if n > 0 {
		if n, err = v.Settings.Store.Reembed(v.ctx(), v.user.ID, embed.Config(c.Provider, c.Model, c.Dimensions), false,
			v.now); err != nil {
			return fmt.Errorf("have everything embedded: %w", err)
		}
	}
	err = v.Settings.Store.Enqueue(v.ctx(), core.NewJob{User: v.user.ID, Queue: core.QueueEmbed, Key: core.EmbedKey,
		RunAt: v.now, Unique: true})
	if err != nil {
		return fmt.Errorf("have everything embedded: %w", err)
	}
	return v.back("/settings#embeddings", v.words.Settings.MeaningSaved.Of(n))
}
