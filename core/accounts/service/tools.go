package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/everthread/everthread/core"
)

// lister is the tool of people who may connect a service and have not: without it the model knows none of those. It only
// reads our own configuration.
type lister struct {
	core.Tool
	of *Services
}

// May reports whether a user may connect a service that is not connected.
func (l lister) May(u core.User) bool {
	return slices.ContainsFunc(l.of.Services, func(one Service) bool { return one.open(u) })
}

// Outside reports that it is one of our own tools: its results are not indexed.
func (lister) Outside() bool { return false }

// Standing returns that it runs without a yes, and only reads.
func (lister) Standing() (allowed, readOnly bool) { return true, true }

// open reports whether a user may connect the service, and has not.
func (s Service) open(u core.User) bool { return s.May(u) && !slices.Contains(u.Services, s.Name) }

// Tools returns the tool that lists what a person has not connected; none without services.
func (s *Services) Tools() []core.Tool {
	if len(s.Services) == 0 {
		return nil
	}
	return []core.Tool{lister{core.NewTool("service_list",
		"List the services whose tools the user would have after connecting them. Only the user can connect one.",
		`{"type":"object","properties":{}}`, s.listOpen), s}}
}

// openService is a service as the model sees it.
type openService struct {
	Service string `json:"service"`
	Host    string `json:"host"`
	Command string `json:"the user sends"`
}

func (s *Services) listOpen(ctx context.Context, use core.ToolUse, _ struct{}) (core.ToolResult, error) {
	u, err := s.Store.User(ctx, use.User)
	if err != nil {
		return core.ToolResult{}, fmt.Errorf("user: %w", err)
	}
	out := []openService{}
	for _, one := range s.Services {
		if one.open(u) {
			out = append(out, openService{one.Name, one.Host(), "/connect " + one.Name})
		}
	}
	return core.ResultOf(map[string]any{"not connected": out})
}
