package trust

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/everthread/everthread/core"
	"github.com/everthread/everthread/core/when"
)

// told says in English and French what rows of the audit tell.
func told() map[core.AuditWhat][2]string {
	return map[core.AuditWhat][2]string{
		core.AuditSettings:    {"Settings changed", "Réglages modifiés"},
		core.AuditName:        {"Name changed", "Nom modifié"},
		core.AuditForget:      {"Messages forgotten", "Messages oubliés"},
		core.AuditApprove:     {"Somebody let in", "Quelqu’un admis"},
		core.AuditDeny:        {"Somebody turned down", "Quelqu’un refusé"},
		core.AuditLinkCode:    {"Code to connect an app made", "Code pour relier une application créé"},
		core.AuditLinkTry:     {"Code to connect an app used", "Code pour relier une application utilisé"},
		core.AuditLink:        {"App connected", "Application reliée"},
		core.AuditUnlink:      {"App disconnected", "Application déliée"},
		core.AuditMerged:      {"Apps came with somebody who is you now", "Applications venues avec quelqu’un qui est vous maintenant"},
		core.AuditSplit:       {"App disconnected with what came through it", "Application déliée avec ce qui en est venu"},
		core.AuditMove:        {"Two people made one", "Deux personnes réunies"},
		core.AuditSignInLink:  {"Sign-in link made", "Lien de connexion créé"},
		core.AuditSignIn:      {"Browser signed in", "Navigateur connecté"},
		core.AuditSignOut:     {"Browser signed out", "Navigateur déconnecté"},
		core.AuditKeyMade:     {"Key for a program made", "Clé de programme créée"},
		core.AuditKeyRevoked:  {"Key for a program revoked", "Clé de programme révoquée"},
		core.AuditAgentMade:   {"Personal agent added", "Agent personnel ajouté"},
		core.AuditAgentGone:   {"Personal agent removed", "Agent personnel retiré"},
		core.AuditIdentity:    {"Address given to a person", "Adresse attribuée à une personne"},
		core.AuditUserMade:    {"Person added", "Personne ajoutée"},
		core.AuditUserDeleted: {"Person deleted", "Personne supprimée"},
		core.AuditExport:      {"Everything exported", "Tout exporté"},
		core.AuditRetry:       {"Tried again", "Nouvel essai"},
		core.AuditCommand:     {"Command refused", "Commande refusée"},
		core.AuditQuestion:    {"Question", "Question"},
		core.AuditCall:        {"Tool called", "Outil appelé"},
	}
}

// results says what came of it, where that is not plain.
func results() map[core.AuditResult][2]string {
	return map[core.AuditResult][2]string{
		core.ResultDone:    {"", ""},
		core.ResultFailed:  {"failed", "échec"},
		core.ResultRefused: {"refused", "refusé"},
		core.ResultBegun:   {"begun", "commencé"},
		core.ResultUnknown: {"nobody knows whether it took effect", "personne ne sait si cela a eu un effet"},
		core.ResultAsked:   {"asked", "posée"},
		core.ResultYes:     {"yes", "oui"},
		core.ResultNo:      {"no", "non"},
		core.ResultExpired: {"nobody answered in time", "sans réponse à temps"},
	}
}

// vias says through what, where it is no identity.
func vias() map[core.Via][2]string {
	return map[core.Via][2]string{
		core.ViaSession:  {"browser", "navigateur"},
		core.ViaKey:      {"program with key", "programme avec la clé"},
		core.ViaOperator: {"command line", "ligne de commande"},
		core.ViaGateway:  {"the gateway itself", "la passerelle elle-même"},
	}
}

func in(language string, words [2]string) string {
	if when.French(language) {
		return words[1]
	}
	return words[0]
}

// Told is a row of the audit as a line: what was done, on what, what came of it.
func Told(language string, r core.AuditRow) string {
	out := cmp.Or(in(language, told()[r.What]), string(r.What))
	if r.Tool != "" {
		out += " `" + strings.ReplaceAll(Line(r.Tool), "`", "'") + "`"
	}
	if r.Object != "" && len(r.IDs) > 0 && r.Object != "turn" {
		out += " #" + strconv.FormatInt(r.IDs[0], 10)
		if n := len(r.IDs) - 1; n > 0 {
			out += " +" + strconv.Itoa(n)
		}
	}
	if result := in(language, results()[r.Result]); result != "" {
		out += ": " + result
	}
	return out
}

// Through is through what it was done; identity is what that of the row is called.
func Through(language string, r core.AuditRow, identity string) string {
	if r.Via == core.ViaIdentity {
		return cmp.Or(identity, "#"+strconv.FormatInt(r.ViaID, 10))
	}
	out := in(language, vias()[r.Via])
	if r.ViaID != 0 {
		out += " #" + strconv.FormatInt(r.ViaID, 10)
	}
	return out
}
