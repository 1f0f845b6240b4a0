package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/words"
)

// Of the page of a deletion.
const (
	removalBeat = time.Second      // between two signs of life
	removalTime = 30 * time.Minute // bounds a deletion
	removalMark = "<!--steps-->"   // where the page grows
)

// deleteMe removes the visitor with everything that is theirs. The page that answers
// grows while it does, and needs no session and no script. Closing it stops nothing.
func (v *visit) deleteMe() error {
	if err := v.r.ParseForm(); err != nil {
		return badForm(err)
	}
	if v.user.Role == core.RoleOwner {
		return because(http.StatusConflict, func(w *texts) string { return w.Settings.DeleteOwner })
	}
	w := v.words.Settings
	if !strings.EqualFold(strings.TrimSpace(v.r.PostForm.Get("word")), w.DeleteWord) {
		return v.wrong(problem{"data", "word", fmt.Sprintf(w.DeleteWrong, w.DeleteWord)}, settingsView{})
	}
	if sure, err := v.sure(core.AccountSubject{Change: core.ChangeDelete}, "/settings#data"); err != nil || !sure {
		return err
	}
	ctx, done, ok := v.watchers.stay(context.WithoutCancel(v.ctx()), v.user.ID, 0)
	if !ok {
		return because(http.StatusServiceUnavailable, func(w *texts) string { return w.Settings.LeaveStopping })
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	user, session := v.user.ID, v.session.Hash
	v.user = core.User{} // the page is of nobody, whatever comes of it
	p, err := v.grow("leaving", w.Delete)
	if err != nil {
		return err
	}
	left, err := v.removeAll(ctx, user, p)
	p.end(v.farewell(ctx, user, session, left, err))
	return nil
}

// removeAll removes a user, and shows how far it is.
func (v *visit) removeAll(ctx context.Context, user core.UserID, p *growing) (left []string, err error) {
	told, shown := make(chan people.Deletion), make(chan struct{})
	go func() {
		defer close(shown)
		p.show(told)
	}()
	defer func() {
		close(told)
		<-shown
	}()
	return v.Settings.Delete(ctx, user, func(r people.Deletion) { told <- r })
}

// farewellView is the end of a deletion.
type farewellView struct {
	Class, Title string
	Lines        []string
	Left         []string // what is left, as the check names it
	Back         bool     // to the settings: the visitor is still there
}

// farewell says what became of a deletion, as it is now in the store.
func (v *visit) farewell(ctx context.Context, user core.UserID, session string, left []string, err error) farewellView {
	w, id := v.words.Settings, zap.Int64("user", int64(user))
	verify := "everthread users delete " + strconv.FormatInt(int64(user), 10) + " --verify"
	if err == nil && len(left) == 0 {
		v.Log.Info("a user deleted everything", id)
		return farewellView{Class: "good", Title: w.Gone, Lines: []string{w.GoneLead, w.GoneProof, w.GoneBackups}}
	}
	if err == nil {
		v.Log.Error("something is left of a user who deleted everything", id, zap.Strings("left", left))
		return farewellView{Class: "bad", Title: w.LeftTitle, Lines: []string{w.LeftLead, fmt.Sprintf(w.LeftDo, verify)},
			Left: left}
	}
	if errors.Is(err, core.ErrMoving) {
		return farewellView{Class: "bad", Title: w.StayTitle, Lines: []string{w.StayMoving}, Back: true}
	}
	v.Log.Error("delete a user", id, zap.Error(err))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _, gone := v.Store.Session(ctx, session, v.Now())
	switch {
	case gone == nil:
		return farewellView{Class: "bad", Title: w.StayTitle, Lines: []string{w.StayLead}, Back: true}
	case missing(gone):
		return farewellView{Class: "bad", Title: w.HalfTitle, Lines: []string{fmt.Sprintf(w.HalfLead, verify)}}
	}
	return farewellView{Class: "bad", Title: w.DoubtTitle, Lines: []string{w.DoubtLead}, Back: true}
}

// growing is a page that is sent bit by bit, which needs no script.
type growing struct {
	v    *visit
	rc   *http.ResponseController
	rest string // of the page, after what grows
	gone bool   // nobody reads it any more

	last  people.Deletion
	began time.Time // of the last step
}

// grow begins a page that grows at its mark.
func (v *visit) grow(name, title string) (*growing, error) {
	var b strings.Builder
	if err := v.views.execute(&b, v, name, title, map[string]any{"Mark": template.HTML(removalMark)}); err != nil {
		return nil, err
	}
	begin, rest, _ := strings.Cut(b.String(), removalMark)
	p := &growing{v: v, rc: http.NewResponseController(v.w), rest: rest}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.Header().Set("X-Accel-Buffering", "no")
	v.w.WriteHeader(http.StatusOK)
	p.write(begin)
	return p, nil
}

// write sends a part. Nobody is told if the page is closed: the work goes on.
func (p *growing) write(text string) {
	if p.gone {
		return
	}
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeLimit)) // what cannot have deadlines needs none
	_, err := p.v.w.Write([]byte(text))
	if err == nil {
		err = p.rc.Flush()
	}
	p.gone = err != nil && !errors.Is(err, http.ErrNotSupported)
}

// part sends a part of a template.
func (p *growing) part(name string, data any) {
	text, err := p.v.views.part(p.v.lang, name, data)
	if err != nil {
		p.v.Log.Error("page of a deletion", zap.Error(err))
		return
	}
	p.write(string(text))
}

// show shows how far it is until there is no more to tell.
func (p *growing) show(told <-chan people.Deletion) {
	beat := time.NewTicker(removalBeat)
	defer beat.Stop()
	var latest people.Deletion
	for {
		select {
		case r, ok := <-told:
			if !ok {
				p.far(latest)
				return
			}
			if r.Step != latest.Step {
				p.far(latest)
				p.step(r)
			}
			latest = r
		case <-beat.C:
			p.far(latest)
		}
	}
}

// step begins the line of a step.
func (p *growing) step(r people.Deletion) {
	p.last, p.began = people.Deletion{Step: r.Step}, time.Now()
	w := p.v.words.Settings
	text := map[people.DeletionStep]string{people.DeletionCount: w.LeaveCount, people.DeletionRows: w.LeaveRows,
		people.DeletionFiles: w.LeaveFiles, people.DeletionClean: w.LeaveClean, people.DeletionLook: w.LeaveLook}[r.Step]
	if r.Step == people.DeletionRows {
		text = fmt.Sprintf(w.LeaveRowsOf, p.v.words.Messages.Of(r.Total))
	}
	p.part("step", text)
}

// far says how far a step is, if there is anything to say: what was said of it
// before is hidden by the style sheet.
func (p *growing) far(r people.Deletion) {
	if r.Step == "" {
		return
	}
	w, n := p.v.words, func(x int) string { return words.Number(p.v.lang, x) }
	said := ""
	switch {
	case r.Step == people.DeletionCount && r != p.last:
		said = fmt.Sprintf(w.Settings.LeaveFound, w.Messages.Of(r.Done), w.Attachments.Of(r.Total))
	case r.Step == people.DeletionFiles && r != p.last && r.Total > 0:
		said = fmt.Sprintf(w.Settings.LeaveFilesOf, n(r.Done), n(r.Total))
	case r.Step != people.DeletionCount && r.Step != people.DeletionFiles && time.Since(p.began) >= removalBeat:
		said = fmt.Sprintf(w.Settings.LeaveSeconds, n(int(time.Since(p.began).Seconds())))
	}
	if p.last = r; said != "" {
		p.part("far", said)
	}
}

// end ends the page.
func (p *growing) end(f farewellView) {
	p.part("farewell", f)
	p.write(p.rest)
}
