package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
	"github.com/everthread/everthread/core/words"
)

// Standing lists and prepares standing instructions, as standing.Standing does.
type Standing interface {
	List(ctx context.Context, user core.UserID) (active, waiting []core.Instruction, err error)
	Add(ctx context.Context, user core.UserID, language, wish string,
		now time.Time) (add *core.AddInstruction, same core.Instruction, err error)
}

type standingAnswer struct {
	Standing []instructionView `json:"standing"`
}

type instructionView struct {
	ID       core.InstructionID `json:"id"`
	Text     string             `json:"text"`
	Active   bool               `json:"active"`   // false: inactive for lack of room
	Proposed bool               `json:"proposed"` // by the assistant
	Message  core.MessageID     `json:"source_message_id,omitempty"`
	Created  string             `json:"created_at"`
}

// instructions returns all standing instructions of a user.
func (c *Server) instructions(r *http.Request, who client.Caller) ([]instructionView, error) {
	active, waiting, err := c.Standing.List(r.Context(), who.User.ID)
	out := []instructionView{}
	for n, i := range slices.Concat(active, waiting) {
		out = append(out, instructionView{i.ID, i.Text, n < len(active), i.Noted, i.Source,
			core.Stamp(i.CreatedAt, who.User.Settings.Location(c.Zone))})
	}
	return out, err
}

// standing answers GET /api/v1/standing.
func (c *Server) standing(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if p := paramsOf(r); p.err != nil {
		return 0, nil, p.err
	}
	all, err := c.instructions(r, who)
	return http.StatusOK, standingAnswer{all}, err
}

type newInstruction struct {
	Text *string `json:"text"`
}

// keptInstruction is the added instruction, or the existing one that says the same.
type keptInstruction struct {
	instructionView
	Status string `json:"status"` // added or exists
}

// want answers POST /api/v1/standing.
func (c *Server) want(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	var b newInstruction
	err := readBody(w, r, &b)
	if err == nil && b.Text == nil {
		err = invalid("text is missing.")
	}
	if err != nil {
		return 0, nil, err
	}
	add, same, err := c.Standing.Add(r.Context(), who.User.ID, words.English, *b.Text, c.Now())
	if err != nil {
		return 0, nil, err
	}
	status, said := http.StatusOK, "exists"
	if add != nil {
		status, said, same = http.StatusCreated, "added", add.Instruction
		if _, err := c.Actor.Act(r.Context(), who.User.ID, *add); err != nil {
			return 0, nil, err
		}
	}
	all, err := c.instructions(r, who)
	if n := slices.IndexFunc(all, func(v instructionView) bool { return v.Text == same.Text }); n >= 0 {
		return status, keptInstruction{all[n], said}, err
	}
	return 0, nil, missing("It was removed meanwhile.")
}

type removedInstruction struct {
	ID     core.InstructionID `json:"id"`
	Status string             `json:"status"`
}

// unwant answers POST /api/v1/standing/{id}/remove.
func (c *Server) unwant(w http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	if err := noBody(w, r); err != nil {
		return 0, nil, err
	}
	id, err := pathID(r)
	if err != nil {
		return 0, nil, err
	}
	all, err := c.instructions(r, who)
	if err != nil {
		return 0, nil, err
	}
	if !slices.ContainsFunc(all, func(v instructionView) bool { return int64(v.ID) == id }) {
		return 0, nil, missing("There is no standing instruction %d.", id)
	}
	gone := core.InstructionID(id)
	_, err = c.Actor.Act(r.Context(), who.User.ID, core.RemoveInstruction{Instruction: gone, At: c.Now()})
	return http.StatusOK, removedInstruction{gone, "removed"}, err
}
