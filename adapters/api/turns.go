package api

import (
	"errors"
	"net/http"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/client"
)

// turnView is a turn with the snapshot of its prompt.
type turnView struct {
	ID       core.TurnID      `json:"turn_id"`
	Thread   core.ThreadID    `json:"thread_id"`
	Mode     core.Mode        `json:"mode"`
	State    core.TurnState   `json:"state"`
	Started  string           `json:"started_at"`
	Inputs   []core.MessageID `json:"inputs"`
	Failures int              `json:"failures"`
	Error    string           `json:"last_error"`
	Context  *core.Snapshot   `json:"context"` // null: the turn has not answered
}

// turn answers GET /api/v1/turns/{id}/context.
func (c *Server) turn(_ http.ResponseWriter, r *http.Request, who client.Caller) (int, any, error) {
	id, err := pathID(r)
	if err != nil {
		return 0, nil, err
	}
	t, s, err := c.Store.Turn(r.Context(), who.User.ID, core.TurnID(id))
	if errors.Is(err, core.ErrNotFound) {
		err = missing("There is no turn %d.", id)
	}
	return http.StatusOK, turnView{t.ID, t.Thread, t.Mode, t.State,
		core.Stamp(t.StartedAt, who.User.Settings.Location(c.Zone)), append([]core.MessageID{}, t.Inputs...), t.Failures,
		t.LastError, s}, err
}
