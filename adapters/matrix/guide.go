package matrix

import (
	"context"

	"github.com/everthread/everthread/core/channel"
	"github.com/everthread/everthread/core/words"
)

var _ channel.Guided = (*Config)(nil)

// wording holds the operators' texts in one language: the guide's and the findings.
type wording struct {
	Option, Homeserver, Help, User, Password, Good                                               string
	NoAddress, NoAccount, NoHomeserver, Refused, Deactivated, Later, OtherAccount, DeviceRemains string
	Findings                                                                                     findings
	Advice                                                                                       map[string]string // what the owner should do
}

var say = words.In[wording]("matrix")

// Guide asks for an account and its password.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := say(language)
	return channel.Guide{
		Option: w.Option,
		Fields: []channel.Field{
			{ID: "matrix_homeserver", Title: w.Homeserver, Help: w.Help, Into: &c.Homeserver},
			{ID: "matrix_user", Title: w.User, Into: &c.UserID},
			{ID: "matrix_password", Title: w.Password, Into: (*string)(&c.Password), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) {
			err := c.try(ctx, h, w)
			return channel.Tried{Said: w.Good, Comment: "docs/matrix.md",
				Keys: []string{"homeserver", c.Homeserver, "user_id", c.UserID, "password", string(c.Password)}}, err
		},
	}
}
