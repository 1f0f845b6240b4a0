package matrix

import (
	"context"

	"github.com/everthread/everthread/core/channel"
)

var _ channel.Guided = (*Config)(nil)

// guideWords are the words of the guide.
type guideWords struct {
	option, homeserver, help, user, password, good                                               string
	noAddress, noAccount, noHomeserver, refused, deactivated, later, otherAccount, deviceRemains string
}

func guideWordsOf(language string) guideWords {
	if language == "fr" {
		return guideWords{
			option: "Matrix (et par lui Signal et d’autres)", homeserver: "Le serveur d’accueil",
			help:     "Comme https://matrix.example.org, avec un compte créé pour l’assistant.",
			user:     "Le compte de l’assistant, comme @assistant:example.org",
			password: "Son mot de passe", good: "Le compte peut se connecter.",
			noAddress:     "l’adresse n’est pas bonne",
			noAccount:     "{where} n’est pas un compte ; écrivez-le comme @assistant:example.org",
			noHomeserver:  "{where} n’est pas un serveur d’accueil où l’on entre avec un mot de passe ({detail}) ; vérifiez son adresse",
			refused:       "le serveur d’accueil refuse le mot de passe de {where} ({detail}) ; vérifiez le compte et le mot de passe",
			deactivated:   "le compte {where} a été désactivé ; demandez à l’administrateur du serveur d’accueil",
			later:         "{where} veut qu’on le laisse un moment ({detail}) ; attendez une minute, puis retapez",
			otherAccount:  "ce mot de passe ouvre un autre compte, {where} ; écrivez celui-là",
			deviceRemains: "la connexion marche, mais pas la déconnexion ({detail}) ; retirez l’appareil {where} dans les réglages du compte, puis retapez",
		}
	}
	return guideWords{
		option: "Matrix (and through it Signal and others)", homeserver: "The homeserver",
		help:     "Such as https://matrix.example.org, with an account made for the assistant.",
		user:     "The assistant's account, such as @assistant:example.org",
		password: "Its password", good: "The account can sign in.",
		noAddress:     "the address is wrong",
		noAccount:     "{where} is no account; write it like @assistant:example.org",
		noHomeserver:  "{where} is no homeserver that lets in with a password ({detail}); check its address",
		refused:       "the homeserver refuses the password of {where} ({detail}); check the account and the password",
		deactivated:   "the account {where} was deactivated; ask the homeserver's administrator",
		later:         "{where} wants to be left alone for a while ({detail}); wait a minute, then type it again",
		otherAccount:  "this password opens another account, {where}; write that one",
		deviceRemains: "it can sign in, but could not sign out again ({detail}); remove the device {where} in the account's settings, then type it again",
	}
}

// Guide asks for an account and its password.
func (c *Config) Guide(language string, h channel.Host) channel.Guide {
	w := guideWordsOf(language)
	return channel.Guide{
		Option: w.option,
		Fields: []channel.Field{
			{ID: "matrix_homeserver", Title: w.homeserver, Help: w.help, Into: &c.Homeserver},
			{ID: "matrix_user", Title: w.user, Into: &c.UserID},
			{ID: "matrix_password", Title: w.password, Into: (*string)(&c.Password), Secret: true},
		},
		Try: func(ctx context.Context) (channel.Tried, error) {
			err := c.try(ctx, h, w)
			return channel.Tried{Said: w.good, Comment: "docs/matrix.md",
				Keys: []string{"homeserver", c.Homeserver, "user_id", c.UserID, "password", string(c.Password)}}, err
		},
	}
}
