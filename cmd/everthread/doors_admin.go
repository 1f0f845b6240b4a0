package main

import (
	"context"

	"github.com/everthread/everthread/adapters/web"
)

// adminPage is what the owner's page needs.
func (a *app) adminPage() *web.Admin {
	return &web.Admin{Store: a.store, NewWebLink: a.WebLink(), Health: a.Health, Check: a.findings}
}

// findings checks the configuration as `everthread doctor` does.
func (a *app) findings(ctx context.Context) []finding { return examineConfig(ctx, a.Config) }
