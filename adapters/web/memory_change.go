package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/words"
)

// addItem keeps what a person wrote on the page of memory.
func (v *visit) addItem() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	f := v.r.PostForm
	form := addedItem{Text: strings.TrimSpace(f.Get("text")), Theme: f.Get("theme"), New: strings.TrimSpace(f.Get("new")),
		Type: f.Get("type")}
	i := core.Item{User: v.user.ID, Content: form.Text, Theme: form.Theme, Type: core.ItemType(form.Type)}
	if form.New != "" {
		i.Theme = form.New
	}
	add, same, err := v.Memory.Keep(v.ctx(), i, v.now)
	if isRefused(err) {
		return v.showMemory(http.StatusUnprocessableEntity, memoryQuery{Page: 1}, form, v.words.RememberRefused)
	}
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	if add == nil {
		return v.back(fmt.Sprintf("/memory#i%d", same.ID),
			fmt.Sprintf(v.words.RememberKnown, words.Number(v.lang, int(same.ID)), same.Theme))
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, *add); err != nil {
		return refusal(fmt.Errorf("remember: %w", err))
	}
	return v.back(fmt.Sprintf("/memory#i%d", add.Item.ID), v.words.Remembered)
}

// askedItem is the item that an action is about, and where the visitor was.
func (v *visit) askedItem() (core.Item, string, error) {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return core.Item{}, "", core.ErrNotFound
	}
	i, err := v.Items.Item(v.ctx(), v.user.ID, core.ItemID(n))
	if err != nil {
		return i, "", fmt.Errorf("read the item: %w", err)
	}
	if err := v.r.ParseForm(); err != nil {
		return i, "", badForm(err)
	}
	next := v.r.PostForm.Get("next")
	if !strings.HasPrefix(next, "/memory") {
		next = "/memory"
	}
	return i, next, nil
}

func (v *visit) archiveItem() error {
	i, next, err := v.askedItem()
	if err != nil {
		return err
	}
	if _, err := v.Gateway.Act(v.ctx(), v.user.ID, core.ArchiveItem{Item: i.ID, At: v.now}); err != nil {
		return refusal(fmt.Errorf("archive: %w", err))
	}
	return v.back(next, v.words.Memory.Archived)
}

func (v *visit) restoreItem() error {
	i, next, err := v.askedItem()
	if err != nil {
		return err
	}
	_, err = v.Gateway.Act(v.ctx(), v.user.ID, core.RestoreItem{Item: i.ID, At: v.now})
	if errors.Is(err, core.ErrExists) {
		return v.back(next, v.words.Memory.Same)
	}
	if err != nil {
		return refusal(fmt.Errorf("restore: %w", err))
	}
	return v.back(next, v.words.Memory.Restored)
}
