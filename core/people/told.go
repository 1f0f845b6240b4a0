package people

import (
	"context"
	"fmt"
	"time"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/markup"
	"github.com/everthread/everthread/core/trust"
	"github.com/everthread/everthread/core/when"
)

// made is a note that tells all identities of a user of an account change that is
// made with it, and how to undo it.
func (p *People) made(ctx context.Context, u core.User, c core.AccountSubject, now time.Time) (core.Note, error) {
	n := core.Note{User: u.ID, Now: now}
	text := changeMade(p.language(u), c)
	var err error
	if n.Deliveries, err = p.others(ctx, u, 0, text); err == nil && len(n.Deliveries) > 0 {
		n.Messages = []core.NewMessage{{Role: core.RoleAssistant, Kind: core.KindNotice, Text: text, SentAt: now}}
	}
	return n, err
}

// others are deliveries of a text to all identities of a user that are written to
// first, but one.
func (p *People) others(ctx context.Context, u core.User, but core.IdentityID, text string) ([]core.NewDelivery, error) {
	ids, err := p.Identities(ctx, u.ID)
	var out []core.NewDelivery
	for _, i := range ids {
		if i.ID != but && p.Channels.Capabilities(i.Address.Channel).Push {
			out = append(out, core.NewDelivery{To: i.Address, Identity: i.ID, Kind: core.DeliverNotice, Why: "told to all identities", Parts: markup.Parts(text, p.Channels.Capabilities(i.Address.Channel))})
		}
	}
	return out, err
}

// changeMade says which account change was made.
func changeMade(language string, c core.AccountSubject) string {
	name := "`" + plain(c.Name) + "`"
	switch french := when.French(language); {
	case c.Change == core.ChangeAdminKey && french:
		return fmt.Sprintf("Une clé avec les droits d’administration a été créée : %s. Si ce n’était pas vous : `/undo` l’annule, pendant 24 heures.", name)
	case c.Change == core.ChangeAdminKey:
		return fmt.Sprintf("A key with admin rights was made: %s. If it was not you: `/undo` takes it back, for 24 hours.", name)
	case c.Change == core.ChangeSignIn && french:
		return fmt.Sprintf("Un lien qui connecte en tant que %s a été créé par le propriétaire de la passerelle. Si ce n’est pas voulu : `/undo` met fin à ce qu’il a ouvert, pendant 24 heures.", name)
	case c.Change == core.ChangeSignIn:
		return fmt.Sprintf("The owner of the gateway made a link that signs in as %s. If that is not wanted: `/undo` ends what it opened, for 24 hours.", name)
	case french:
		return "Tout ce que vous avez dit a été exporté dans un fichier, par un navigateur où vous êtes connecté. Cela ne s’annule pas ; `/mine` montre par lequel."
	}
	return "Everything that you said was exported into a file, by a browser where you are signed in. This cannot be undone; `/mine` shows by which."
}

// deletionAsked says that a deletion was asked for, where the yes is awaited, and
// how to stop it.
func deletionAsked(language, browser string, at core.Identity) string {
	where := trust.AddressName(at.Address, at.Name)
	if when.French(language) {
		return "Un navigateur où vous êtes connecté (`" + plain(browser) + "`) veut **supprimer votre compte** avec tout ce qui est à vous. C’est définitif. J’ai posé la question sur " + where +
			" : après un « oui » là-bas, ce navigateur peut le faire.\n\nSi ce n’est pas vous, répondez « non » là-bas, ou déconnectez ce navigateur : `/undo` le fait s’il s’est connecté depuis moins de 24 heures, et la page de réglages (`/web`) les déconnecte tous."
	}
	return "A browser where you are signed in (`" + plain(browser) + "`) wants to **delete your account** with everything that is yours. It cannot be undone. I asked at " + where +
		": after a yes there, that browser can do it.\n\nIf it is not you, say no there, or sign that browser out: `/undo` does if it signed in within the last 24 hours, and the settings page (`/web`) signs all of them out."
}
