package settings

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/adapters/web"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/accounts/people"
	"github.com/everthread/everthread/core/effect"
	"github.com/everthread/everthread/core/text/i18n"
)

// Settings of the page of an account deletion.
const (
	removalBeat = time.Second      // between two reports of progress
	removalTime = 30 * time.Minute // bounds a deletion
	stepLimit   = 20 * time.Second // bounds the sending of one step
	removalMark = "<!--steps-->"   // where the page grows
)

// deleteMe deletes the visitor's account. The page that answers grows during the
// deletion, and needs no session and no script. Closing it does not stop the deletion.
func (r *Room) deleteMe(v *web.Visit) error {
	if v.User.Role == core.RoleOwner {
		return web.Because(http.StatusConflict, say(v.Lang).Settings.DeleteOwner)
	}
	w := say(v.Lang).Settings
	if !strings.EqualFold(strings.TrimSpace(v.R.PostForm.Get("word")), w.DeleteWord) {
		return r.wrong(v, problem{"data", "word", fmt.Sprintf(w.DeleteWrong, w.DeleteWord)}, settingsView{})
	}
	if sure, err := r.sure(v, effect.AccountSubject{Change: effect.ChangeDelete}, "/settings/data"); err != nil || !sure {
		return err
	}
	ctx, done, ok := v.Stay(context.WithoutCancel(v.Context()), 0)
	if !ok {
		return web.Because(http.StatusServiceUnavailable, say(v.Lang).Settings.LeaveStopping)
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	user := v.User.ID
	v.User = core.User{} // the page shows no user, whatever the outcome
	p, err := r.grow(v, "leaving", w.Delete)
	if err != nil {
		return err
	}
	left, err := r.removeAll(v, ctx, user, p)
	p.end(r.farewell(v, ctx, user, left, err))
	return nil
}

// removeAll deletes an account and reports progress on the page.
func (r *Room) removeAll(v *web.Visit, ctx context.Context, user core.UserID, p *growing) (left []string, err error) {
	told := make(chan people.Deletion)
	var shown sync.WaitGroup
	shown.Go(func() { p.show(told) })
	defer shown.Wait()
	defer close(told)
	return r.Engine.Delete(ctx, user, func(r people.Deletion) { told <- r })
}

type farewellView struct {
	Class, Title string
	Lines        []string
	Left         []string // places that still hold data
	Back         bool     // link to the settings: the account still exists
}

// farewell reports the outcome of a deletion according to the store.
func (r *Room) farewell(v *web.Visit, ctx context.Context, user core.UserID, left []string, err error) farewellView {
	w, id := say(v.Lang).Settings, zap.Int64("user", int64(user))
	verify := "everthread users delete " + strconv.FormatInt(int64(user), 10) + " --verify"
	if err == nil && len(left) == 0 {
		r.Log.Info("user deleted their account", id)
		return farewellView{Class: "good", Title: w.Gone, Lines: []string{w.GoneLead, w.GoneProof, w.GoneBackups}}
	}
	if err == nil {
		r.Log.Error("account deletion left data behind", id, zap.Strings("left", left))
		return farewellView{Class: "bad", Title: w.LeftTitle, Lines: []string{w.LeftLead, fmt.Sprintf(w.LeftDo, verify)},
			Left: left}
	}
	r.Log.Error("account deletion failed", id, zap.Error(err))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	lives, err := v.Lives(ctx)
	switch {
	case lives:
		return farewellView{Class: "bad", Title: w.StayTitle, Lines: []string{w.StayLead}, Back: true}
	case err == nil:
		return farewellView{Class: "bad", Title: w.HalfTitle, Lines: []string{fmt.Sprintf(w.HalfLead, verify)}}
	}
	return farewellView{Class: "bad", Title: w.DoubtTitle, Lines: []string{w.DoubtLead}, Back: true}
}

// growing is a page that is sent in parts, without a script.
type growing struct {
	v    *web.Visit
	log  *zap.Logger
	rc   *http.ResponseController
	rest string // of the page, after the growing part
	gone bool   // the client is gone

	last  people.Deletion
	began time.Time // of the last step
}

// grow begins a page that grows at removalMark.
func (r *Room) grow(v *web.Visit, name, title string) (*growing, error) {
	var b strings.Builder
	if err := v.Execute(&b, name, title, map[string]any{"Mark": template.HTML(removalMark)}); err != nil {
		return nil, err
	}
	begin, rest, _ := strings.Cut(b.String(), removalMark)
	p := &growing{v: v, log: r.Log, rc: http.NewResponseController(v.W), rest: rest}
	v.W.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.W.Header().Set("X-Accel-Buffering", "no")
	v.W.WriteHeader(http.StatusOK)
	p.write(begin)
	return p, nil
}

// write sends a part. It ignores a closed page, as the deletion continues.
func (p *growing) write(text string) {
	if p.gone {
		return
	}
	_ = p.rc.SetWriteDeadline(time.Now().Add(stepLimit)) // a connection without deadlines does without
	_, err := p.v.W.Write([]byte(text))
	if err == nil {
		err = p.rc.Flush()
	}
	p.gone = err != nil && !errors.Is(err, http.ErrNotSupported)
}

func (p *growing) part(name string, data any) {
	text, err := p.v.Part(name, data)
	if err != nil {
		p.log.Error("part of a deletion's page failed", zap.Error(err))
		return
	}
	p.write(string(text))
}

// show reports progress until told is closed.
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

func (p *growing) step(r people.Deletion) {
	p.last, p.began = people.Deletion{Step: r.Step}, time.Now()
	w := say(p.v.Lang).Settings
	text := map[people.DeletionStep]string{people.DeletionCount: w.LeaveCount, people.DeletionRows: w.LeaveRows,
		people.DeletionFiles: w.LeaveFiles, people.DeletionClean: w.LeaveClean, people.DeletionLook: w.LeaveLook}[r.Step]
	if r.Step == people.DeletionRows {
		text = fmt.Sprintf(w.LeaveRowsOf, p.v.Words.Messages.Of(r.Total))
	}
	p.part("step", text)
}

// far reports the progress of a step, if there is any. The style sheet hides the earlier reports of the step.
func (p *growing) far(r people.Deletion) {
	if r.Step == "" {
		return
	}
	w, n := say(p.v.Lang), func(x int) string { return i18n.Number(p.v.Lang, x) }
	said := ""
	switch {
	case r.Step == people.DeletionCount && r != p.last:
		said = fmt.Sprintf(w.Settings.LeaveFound, p.v.Words.Messages.Of(r.Done), w.Attachments.Of(r.Total))
	case r.Step == people.DeletionFiles && r != p.last && r.Total > 0:
		said = fmt.Sprintf(w.Settings.LeaveFilesOf, n(r.Done), n(r.Total))
	case r.Step != people.DeletionCount && r.Step != people.DeletionFiles && time.Since(p.began) >= removalBeat:
		said = fmt.Sprintf(w.Settings.LeaveSeconds, n(int(time.Since(p.began).Seconds())))
	}
	if p.last = r; said != "" {
		p.part("far", said)
	}
}

func (p *growing) end(f farewellView) {
	p.part("farewell", f)
	p.write(p.rest)
}
