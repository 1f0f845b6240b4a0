package settings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
)

func (r *Room) addItem(v *web.Visit) error {
	f := v.R.PostForm
	form := addedItem{Text: strings.TrimSpace(f.Get("text")), Theme: f.Get("theme"), New: strings.TrimSpace(f.Get("new")),
		Type: f.Get("type")}
	long := cmp.Or(v.Within(web.MostKept, form.Text), v.Within(web.MostTheme, form.New))
	if long != nil {
		return r.showMemory(v, http.StatusUnprocessableEntity, memoryQuery{Page: 1}, form, long.Error(), standingView{})
	}
	i := core.Item{User: v.User.ID, Content: form.Text, Theme: form.Theme, Type: core.ItemType(form.Type)}
	if form.New != "" {
		i.Theme = form.New
	}
	add, same, err := r.Memory.Keep(v.Context(), i, v.Now)
	if web.IsRefused(err) {
		return r.showMemory(v, http.StatusUnprocessableEntity, memoryQuery{Page: 1}, form, v.Words.RememberRefused,
			standingView{})
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if add == nil {
		return v.Back(fmt.Sprintf("/memory#i%d", same.ID),
			fmt.Sprintf(v.Words.RememberKnown, i18n.Number(v.Lang, int(same.ID)), same.Theme))
	}
	return v.Act("remember", fmt.Sprintf("/memory#i%d", add.Item.ID), v.Words.Remembered, *add)
}

// ofItem returns a handler for the item in the path and the path of the page to return to.
func (r *Room) ofItem(serve func(v *web.Visit, i core.Item, next string) error) func(*web.Visit) error {
	return web.WithID(func(v *web.Visit, n int64) error {
		i, err := r.Memory.Item(v.Context(), v.User.ID, core.ItemID(n))
		if err != nil {
			return fmt.Errorf("read the item: %w", err)
		}
		next := v.R.PostForm.Get("next")
		if !strings.HasPrefix(next, "/memory") {
			next = "/memory"
		}
		return serve(v, i, next)
	})
}

func (r *Room) archiveItem(v *web.Visit, i core.Item, next string) error {
	return v.Act("archive", next, say(v.Lang).Memory.Archived, effect.ArchiveItem{Item: i.ID, At: v.Now})
}

func (r *Room) restoreItem(v *web.Visit, i core.Item, next string) error {
	err := v.Act("restore", next, say(v.Lang).Memory.Restored, effect.RestoreItem{Item: i.ID, At: v.Now})
	if errors.Is(err, core.ErrExists) {
		return v.Back(next, say(v.Lang).Memory.Same)
	}
	return err
}

func (r *Room) editItem(v *web.Visit, i core.Item, next string) error {
	text := strings.TrimSpace(v.R.PostForm.Get("text"))
	if err := v.Within(web.MostKept, text); err != nil {
		return err
	}
	edit, err := r.Memory.Edit(v.Context(), v.User.ID, i.ID, text, v.Now)
	if web.IsRefused(err) {
		return web.Because(http.StatusUnprocessableEntity, v.Words.RememberRefused)
	}
	if err != nil {
		return fmt.Errorf("correct memory: %w", err)
	}
	err = v.Act("correct memory", fmt.Sprintf("%s#i%d", next, i.ID), say(v.Lang).Memory.Edited, edit)
	if errors.Is(err, core.ErrExists) {
		return v.Back(next, say(v.Lang).Memory.SameEdit)
	}
	return err
}

func (r *Room) deleteItem(v *web.Visit, i core.Item, next string) error {
	return v.Act("delete", next, say(v.Lang).Memory.Deleted, effect.DeleteItem{Item: i.ID, At: v.Now})
}

// Standing lists and prepares standing instructions, as standing.Standing does.
type Standing interface {
	List(ctx context.Context, user core.UserID) (active, waiting []core.Instruction, err error)
	Add(ctx context.Context, user core.UserID, language, wish string,
		now time.Time) (add *effect.AddInstruction, same core.Instruction, err error)
}

func (r *Room) standingRoutes() []web.Route {
	return []web.Route{
		// A refused form is shown at this path, which can be reloaded.
		{Pattern: "GET /memory/standing", Serve: func(v *web.Visit) error { return v.Back("/memory#standing", "") }},
		{Pattern: "POST /memory/standing", Serve: r.want},
		{Pattern: "POST /memory/standing/{id}/remove", Serve: web.WithID(r.unwant)},
	}
}

// standingView is the section of standing instructions on the memory and settings pages.
type standingView struct {
	Next        string // path of the page
	All         []shownWish
	Wish, Wrong string // of a refused form
}

type shownWish struct {
	ID                 core.InstructionID
	Text, When, Source string
	Proposed           bool
	Waiting            bool // inactive for lack of room
}

func (s *standingView) fill(v *web.Visit, r *Room, next string) error {
	active, waiting, err := r.Standing.List(v.Context(), v.User.ID)
	if err != nil {
		return fmt.Errorf("read standing instructions: %w", err)
	}
	s.Next = next
	for n, i := range slices.Concat(active, waiting) {
		w := shownWish{ID: i.ID, Text: i.Text, When: v.Moment(i.CreatedAt), Proposed: i.Noted, Waiting: n >= len(active)}
		if i.Source != 0 {
			w.Source = fmt.Sprintf("/m/%d", i.Source)
		}
		s.All = append(s.All, w)
	}
	return nil
}

// cameFrom returns the path of the page with the form.
func cameFrom(v *web.Visit) string {
	if strings.HasPrefix(v.R.PostForm.Get("next"), "/settings") {
		return "/settings/standing"
	}
	return "/memory#standing"
}

func (r *Room) want(v *web.Visit) error {
	wish, next := v.R.PostForm.Get("text"), cameFrom(v)
	add, _, err := r.Standing.Add(v.Context(), v.User.ID, v.Lang, wish, v.Now)
	switch {
	case web.IsRefused(err) && next == "/settings/standing":
		return r.wrong(v, problem{Section: "standing", Field: "wish", Text: err.Error()},
			settingsView{Standing: standingView{Wish: wish, Wrong: err.Error()}})
	case web.IsRefused(err):
		return r.showMemory(v, http.StatusUnprocessableEntity, memoryQuery{Page: 1}, newItem(), "",
			standingView{Wish: wish, Wrong: err.Error()})
	case err != nil:
		return fmt.Errorf("prepare a standing instruction: %w", err)
	case add == nil:
		return v.Back(next, say(v.Lang).Standing.Known)
	}
	return v.Act("want", next, say(v.Lang).Standing.Added, *add)
}

func (r *Room) unwant(v *web.Visit, n int64) error {
	err := v.Act("remove a standing instruction", cameFrom(v), say(v.Lang).Standing.Removed,
		effect.RemoveInstruction{Instruction: core.InstructionID(n), At: v.Now})
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrNotFound
	}
	return err
}
