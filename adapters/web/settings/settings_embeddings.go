package settings

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

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/llm/embed"
	"github.com/everthread/everthread/core/store"
	"github.com/everthread/everthread/core/text/i18n"
	"github.com/everthread/everthread/core/trust/egress"
)

// Embeddings provides the embedding models of search by meaning.
type Embeddings interface {
	// System returns the name of the gateway's configuration; if it is empty, users configure their own.
	System() string
	// Name returns the name of a user's current configuration; empty: none.
	Name(ctx context.Context, user core.UserID) (string, error)
	// Open returns the embedder of a choice, without a request. The embedder refuses
	// addresses of the gateway's own network.
	Open(c core.OwnEmbeddings) (core.Embedder, error)
	// Seal encrypts a key for a choice; an empty key stays empty.
	Seal(key string) (string, error)
	// Outdated counts the texts of all users that the gateway's model has to embed again, after it was changed.
	Outdated(ctx context.Context) (int, error)
	// RebuildOutdated lets them be embedded again, and returns their number.
	RebuildOutdated(ctx context.Context) (int, error)
}

func (r *Room) embeddingRoutes() []web.Route {
	if r.Embeddings.System() != "" {
		return []web.Route{{Pattern: "POST /settings/embeddings/again", Serve: r.embedAgain, Owner: true}}
	}
	return []web.Route{{Pattern: "POST /settings/embeddings", Serve: r.setEmbeddings}}
}

type meaningView struct {
	System, Counts string
	Outdated       string // for the owner: texts that the gateway's model has to embed again; needs confirmation
	Set            bool   // the person has configured a model
	Form           meaningForm
	Providers      []choice
	Tried          string // report of a successful try
	Count          string // texts to embed again; not empty: needs confirmation
}

// meaningForm is a choice in a form. Sealed is a key typed in an earlier step.
type meaningForm struct {
	Provider, BaseURL, Model, Dimensions, Sealed string
	Kept                                         bool // a key is stored for this address
}

func (r *Room) fillMeaning(v *web.Visit, page *settingsView) error {
	p := &page.Meaning
	var err error
	if p.System = embed.Named(r.Embeddings.System()); p.System != "" && v.User.Role == core.RoleOwner {
		n, err := r.Embeddings.Outdated(v.Context())
		if err != nil {
			return fmt.Errorf("count texts to embed again: %w", err)
		}
		if n > 0 {
			p.Outdated = say(v.Lang).Settings.MeaningAsk.Of(n)
		}
	}
	if p.Counts, err = r.vectors(v); err != nil {
		return err
	}
	own := v.User.Settings.Embeddings
	p.Set = own.Provider != ""
	if p.Form == (meaningForm{}) {
		p.Form = meaningForm{Provider: own.Provider, BaseURL: own.BaseURL, Model: own.Model, Kept: own.Sealed != ""}
		if own.Dimensions > 0 {
			p.Form.Dimensions = strconv.Itoa(own.Dimensions)
		}
	}
	w := say(v.Lang).Settings
	p.Providers = choices(p.Form.Provider, embed.OpenAI, w.ProviderOpenAI, "", embed.Ollama, "Ollama", "",
		embed.LlamaCPP, "llama.cpp", "", embed.CustomHTTP, w.ProviderCustom, "")
	return nil
}

// embedAgain lets texts with vectors of another model be embedded again.
func (r *Room) embedAgain(v *web.Visit) error {
	n, err := r.Embeddings.RebuildOutdated(v.Context())
	if err != nil {
		return fmt.Errorf("embed again: %w", err)
	}
	return v.Back("/settings/embeddings", say(v.Lang).Settings.MeaningSaved.Of(n))
}

// setEmbeddings tries, saves or removes a person's own embedding model. Saving another
// model recomputes all vectors, so their number has to be confirmed first.
func (r *Room) setEmbeddings(v *web.Visit) error {
	do := v.R.PostForm.Get("do")
	if do == "clear" {
		s := v.User.Settings
		s.Embeddings = core.OwnEmbeddings{}
		return r.change(v, "embeddings", say(v.Lang).Settings.MeaningOff, effect.SetSettings{Settings: s})
	}
	c, form, wrong, err := r.readMeaning(v)
	if err != nil {
		return err
	}
	page := settingsView{Here: "embeddings", Meaning: meaningView{Form: form}}
	if wrong != nil {
		return r.wrong(v, *wrong, page)
	}
	if do == "confirm" {
		return r.saveMeaning(v, c)
	}
	dimensions, took, err := r.tryMeaning(v, c)
	if err != nil {
		return r.wrong(v, problem{"embeddings", "endpoint", explainMeaning(v, err)}, page)
	}
	page.Meaning.Tried = fmt.Sprintf(say(v.Lang).Settings.MeaningWorks, i18n.Number(v.Lang, dimensions),
		i18n.Number(v.Lang, int(took.Milliseconds())))
	if do != "save" {
		return r.showSettings(v, http.StatusOK, page)
	}
	n, err := r.renewed(v, c)
	if err != nil {
		return err
	}
	if n == 0 {
		return r.saveMeaning(v, c)
	}
	page.Meaning.Count = say(v.Lang).Settings.MeaningAsk.Of(n)
	return r.showSettings(v, http.StatusOK, page)
}

// readMeaning parses the form. A stored key is used only with the address for which it was stored.
func (r *Room) readMeaning(v *web.Visit) (c core.OwnEmbeddings, form meaningForm, wrong *problem, err error) {
	f, w := v.R.PostForm, say(v.Lang).Settings
	field := func(name string) string { return strings.TrimSpace(f.Get(name)) }
	form = meaningForm{Provider: field("provider"), BaseURL: field("base_url"), Model: field("model"),
		Dimensions: field("dimensions"), Sealed: field("sealed")}
	if err := v.Within(mostTyped, form.BaseURL, form.Model, field("key")); err != nil {
		return c, form, nil, err
	}
	c = core.OwnEmbeddings{Provider: form.Provider, BaseURL: form.BaseURL, Model: form.Model}
	if form.Dimensions != "" {
		if c.Dimensions, err = strconv.Atoi(form.Dimensions); err != nil || c.Dimensions < 0 ||
			c.Dimensions > core.VectorSize {
			return c, form, &problem{"embeddings", "dimensions",
				fmt.Sprintf(w.DimensionsWrong, i18n.Number(v.Lang, core.VectorSize))}, nil
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
		if form.Sealed, err = r.Embeddings.Seal(key); err != nil {
			return c, form, nil, fmt.Errorf("encrypt the key: %w", err)
		}
	}
	own := v.User.Settings.Embeddings
	c.Sealed = form.Sealed
	if c.Sealed == "" && own.Provider == c.Provider && own.BaseURL == c.BaseURL {
		c.Sealed, form.Kept = own.Sealed, own.Sealed != ""
	}
	return c, form, nil, nil
}

func (r *Room) tryMeaning(v *web.Visit, c core.OwnEmbeddings) (dimensions int, took time.Duration, err error) {
	e, err := r.Embeddings.Open(c)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(egress.For(v.Context(), v.User.ID), checkTime)
	defer cancel()
	start := r.Now()
	dimensions, err = embed.Check(ctx, e)
	return dimensions, r.Now().Sub(start), err
}

func explainMeaning(v *web.Visit, err error) string {
	w := say(v.Lang).Settings
	var model *core.ModelError
	var spent *egress.QuotaError
	switch {
	case errors.Is(err, egress.ErrPrivate) && v.User.Role == core.RoleOwner:
		return w.MeaningPrivateOwner
	case errors.Is(err, egress.ErrPrivate):
		return w.MeaningPrivate
	case errors.Is(err, egress.ErrUnlisted):
		return w.MeaningUnlisted
	case errors.As(err, &spent):
		return w.MeaningSpent
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf(w.MeaningSlow, i18n.Number(v.Lang, int(checkTime.Seconds())))
	case errors.As(err, &model):
		advice := map[core.ModelErrorKind]string{core.ModelDown: w.MeaningDown, core.ModelBusy: w.MeaningBusy,
			core.ModelAuth: w.MeaningAuth, core.ModelConfig: w.MeaningConfig}[model.Kind]
		return strings.TrimSpace(cmp.Or(advice, w.MeaningFails) + " " + fmt.Sprintf(w.Detail, model.Err.Error()))
	}
	return w.MeaningFails + " " + fmt.Sprintf(w.Detail, err.Error())
}

// renewed returns the number of texts that a choice would embed again.
func (r *Room) renewed(v *web.Visit, c core.OwnEmbeddings) (int, error) {
	now, err := r.Embeddings.Name(v.Context(), v.User.ID)
	next := embed.Config(c.Provider, c.Model, c.Dimensions)
	if err == nil && now == next {
		return 0, nil
	}
	n, err := r.Store.Reembed(v.Context(), v.User.ID, next, true, v.Now)
	if err != nil {
		return 0, fmt.Errorf("count embedded texts: %w", err)
	}
	return n, nil
}

func (r *Room) saveMeaning(v *web.Visit, c core.OwnEmbeddings) error {
	n, err := r.renewed(v, c)
	if err != nil {
		return err
	}
	s := v.User.Settings
	s.Embeddings = c
	if _, err := r.Gateway.Act(v.Context(), v.User.ID, effect.SetSettings{Settings: s}); err != nil {
		return v.Refusal(fmt.Errorf("change settings: %w", err))
	}
	if n > 0 {
		if n, err = r.Store.Reembed(v.Context(), v.User.ID, embed.Config(c.Provider, c.Model, c.Dimensions), false,
			v.Now); err != nil {
			return fmt.Errorf("embed again: %w", err)
		}
	}
	err = r.Store.Enqueue(v.Context(), store.NewJob{User: v.User.ID, Queue: core.QueueEmbed, Key: core.EmbedKey,
		RunAt: v.Now, Unique: true})
	if err != nil {
		return fmt.Errorf("enqueue embedding: %w", err)
	}
	return v.Back("/settings/embeddings", say(v.Lang).Settings.MeaningSaved.Of(n))
}
