package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/everthread/everthread/configs"
	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/folder"
	"github.com/everthread/everthread/core/job"
	"github.com/everthread/everthread/core/people"
	"github.com/everthread/everthread/core/setup"
)

// begin runs the gateway until the owner's first message was answered, and asks
// how it is to run from then on.
func (b *beginning) begin(ctx context.Context, cfg configs.Config) error {
	b.report.Answers = b.asker.N
	how := "no"
	err := b.withGateway(ctx, cfg, func(ctx context.Context, a *app) error {
		if err := b.pair(ctx, a); err != nil {
			return err
		}
		var err error
		if how, err = b.service(ctx, cfg); err != nil || how != "here" || b.json {
			return err
		}
		b.say(b.Here)
		b.giveBack()
		<-ctx.Done()
		return nil
	})
	if errors.Is(err, folder.ErrServed) {
		b.say(b.Served)
		err = nil
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if how == "no" {
		b.say(b.StartSelf)
	}
	b.say(b.Doctor)
	b.report.Seconds = time.Since(b.began).Seconds()
	if b.json {
		return b.show(b.report, nil)
	}
	return nil
}

// withGateway runs f beside a gateway of this configuration.
func (b *beginning) withGateway(ctx context.Context, cfg configs.Config,
	f func(ctx context.Context, a *app) error) error {
	if err := prepare(&cfg); err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		unlock, err := folder.Lock(cfg.DataDir)
		if err != nil {
			return err
		}
		defer unlock()
	}
	log, closeLog, err := fileLogger(filepath.Join(cfg.DataDir, "init.log"))
	if err != nil {
		return err
	}
	defer closeLog()
	ln, err := net.Listen("tcp", cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	return b.serveWhile(ctx, cfg, log, ln, f)
}

// serveWhile wires the gateway and serves until f returned.
func (b *beginning) serveWhile(ctx context.Context, cfg configs.Config, log *zap.Logger, ln net.Listener,
	f func(ctx context.Context, a *app) error) error {
	st, err := openMigrated(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	a, shut, err := newApp(ctx, newProcess(cfg, log, st, clock()), st)
	if err != nil {
		return err
	}
	defer shut()
	if err := a.TakeOver(ctx); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- a.serve(serving, ln, nil)
		stop()
	}()
	err = f(serving, a)
	stop()
	return errors.Join(err, <-ended)
}

// pair shows the owner how to come, and waits for them.
func (b *beginning) pair(ctx context.Context, a *app) error {
	owner, code, err := a.People.EnsureOwner(ctx)
	if err != nil {
		return err
	}
	if err := b.showPage(ctx, a, owner); err != nil {
		return err
	}
	if code == "" {
		b.say(b.Own)
		return nil
	}
	app := func(name string) bool { return !people.Own(name) && !a.Channels.Capabilities(name).Personal }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(a.Channels)), app) {
		return nil
	}
	b.showCode(ctx, a, code)
	if b.Wait == 0 {
		return nil
	}
	b.say(b.Waiting)
	ctx, cancel := context.WithTimeout(ctx, b.Wait)
	defer cancel()
	err = b.await(ctx, a, owner.ID)
	if errors.Is(err, context.DeadlineExceeded) {
		b.say(b.NobodyCame)
		err = nil
	}
	return err
}

// showPage shows a link that signs the owner in to the web page.
func (b *beginning) showPage(ctx context.Context, a *app, owner core.User) error {
	if !a.Config.Channels.Web.Enabled {
		return nil
	}
	var err error
	b.report.Page, _, err = newWebLink(ctx, a.People, a.Config, a.store, owner.ID, firstLife)
	b.sayf(b.WebLink, b.report.Page)
	return err
}

// showCode shows how an address becomes the owner's.
func (b *beginning) showCode(ctx context.Context, a *app, code string) {
	if b.report.Link = startLink(ctx, a, code); b.report.Link == "" {
		b.sayf(b.PairCode, code)
		return
	}
	b.say("\n" + b.Pair + "\n\n  " + b.report.Link + "\n")
	if picture, err := setup.QR(b.report.Link); err == nil && (b.keyboard != nil || isTerminal(b.human())) {
		b.say(b.Scan + "\n")
		fmt.Fprintln(drawn(b.human()), picture)
	}
}

// startLink opens the first app in which one tap sends a code; empty: there is none.
func startLink(ctx context.Context, a *app, code string) string {
	for _, app := range a.Apps(ctx) {
		if app.Start != nil {
			return app.Start(code)
		}
	}
	return ""
}

// await waits until an address is the owner's, and until it was answered.
func (b *beginning) await(ctx context.Context, a *app, owner core.UserID) error {
	err := until(ctx, func() (bool, error) {
		ids, err := a.People.Identities(ctx, owner)
		n := slices.IndexFunc(ids, func(i core.Identity) bool { return !people.Own(i.Address.Channel) })
		if n >= 0 {
			b.report.Paired = ids[n].Address.Channel
		}
		return n >= 0, err
	})
	if err != nil {
		return err
	}
	b.sayf(b.Came, b.report.Paired)
	return until(ctx, func() (bool, error) {
		sent, err := a.store.Deliveries(ctx, core.DeliveryQuery{User: owner, States: []core.DeliveryState{core.DeliverySent,
			core.DeliveryDelivered, core.DeliveryRead}, Limit: 1})
		if err != nil || len(sent) == 0 || len(sent[0].Parts) == 0 {
			return false, err
		}
		b.report.Answered = true
		first, _, _ := strings.Cut(sent[0].Parts[0].Part.Text, "\n")
		b.sayf(b.Answered, short(first, 60))
		return true, nil
	})
}

// until asks again and again whether something is so.
func until(ctx context.Context, is func() (bool, error)) error {
	for {
		yes, err := is()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || yes {
			return err
		}
		job.Wait(ctx, 5*firstLook)
	}
}
