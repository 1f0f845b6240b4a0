package office

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// addItem adds an item written on the memory page.
func (r *Room) addItem(v *web.Visit) error {
	f := v.R.PostForm
	form := addedItem{Text: strings.TrimSpace(f.Get("text")), Theme: f.Get("theme"), New: strings.TrimSpace(f.Get("new")),
		Type: f.Get("type")}
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
			fmt.Sprintf(v.Words.RememberKnown, words.Number(v.Lang, int(same.ID)), same.Theme))
	}
	return v.Act("remember", fmt.Sprintf("/memory#i%d", add.Item.ID), v.Words.Remembered, *add)
}

// askedItem returns the item in the path, and the path of the page to return to.
func (r *Room) askedItem(v *web.Visit) (core.Item, string, error) {
	n, err := v.ID()
	if err != nil {
		return core.Item{}, "", err
	}
	i, err := r.Memory.Item(v.Context(), v.User.ID, core.ItemID(n))
	if err != nil {
		return i, "", fmt.Errorf("read the item: %w", err)
	}
	next := v.R.PostForm.Get("next")
	if !strings.HasPrefix(next, "/memory") {
		next = "/memory"
	}
	return i, next, nil
}

func (r *Room) archiveItem(v *web.Visit) error {
	i, next, err := r.askedItem(v)
	if err != nil {
		return err
	}
	return v.Act("archive", next, say(v.Lang).Memory.Archived, core.ArchiveItem{Item: i.ID, At: v.Now})
}

func (r *Room) restoreItem(v *web.Visit) error {
	i, next, err := r.askedItem(v)
	if err != nil {
		return err
	}
	_, err = r.Gateway.Act(v.Context(), v.User.ID, core.RestoreItem{Item: i.ID, At: v.Now})
	if errors.Is(err, core.ErrExists) {
		return v.Back(next, say(v.Lang).Memory.Same)
	}
	if err != nil {
		return v.Refusal(fmt.Errorf("restore: %w", err))
	}
	return v.Back(next, say(v.Lang).Memory.Restored)
}

// editItem corrects the statement of an item.
func (r *Room) editItem(v *web.Visit) error {
	i, next, err := r.askedItem(v)
	if err != nil {
		return err
	}
	edit, err := r.Memory.Edit(v.Context(), v.User.ID, i.ID, v.R.PostForm.Get("text"), v.Now)
	if web.IsRefused(err) {
		return web.Because(http.StatusUnprocessableEntity, v.Words.RememberRefused)
	}
	if err != nil {
		return fmt.Errorf("correct memory: %w", err)
	}
	_, err = r.Gateway.Act(v.Context(), v.User.ID, edit)
	if errors.Is(err, core.ErrExists) {
		return v.Back(next, say(v.Lang).Memory.SameEdit)
	}
	if err != nil {
		return v.Refusal(fmt.Errorf("correct memory: %w", err))
	}
	return v.Back(fmt.Sprintf("%s#i%d", next, i.ID), say(v.Lang).Memory.Edited)
}

// deleteItem removes an item for good.
func (r *Room) deleteItem(v *web.Visit) error {
	i, next, err := r.askedItem(v)
	if err != nil {
		return err
	}
	return v.Act("delete", next, say(v.Lang).Memory.Deleted, core.DeleteItem{Item: i.ID, At: v.Now})
}
