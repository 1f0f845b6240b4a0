package setup

// englishFaults are the words of what trials find.
func englishFaults() map[Wrong]string {
	return map[Wrong]string{
		WrongAddress:      "the address is wrong",
		WrongUnreached:    "{where} does not answer ({detail}); check the address, and whether the server runs",
		WrongKey:          "{where} does not take this key ({detail}); copy it once more",
		WrongModelDown:    "{where} has a problem ({detail}); try again in a moment, or choose another",
		WrongModelBusy:    "{where} asks to wait, or the account has no credit left ({detail}); check the plan, or try again in a minute",
		WrongModel:        "{where} does not know this model, or nothing stands at this address ({detail}); check both, the address often ends in /v1",
		WrongModelWindow:  "the model's window is too small even for a word ({detail}); choose another",
		WrongModelRefuses: "{where} refuses the request ({detail}); choose another model",
		WrongModelCutOff:  "the answer of {where} was cut off; check the address, and whether something between here and there ends streams",
		WrongDatabase:     "the database does not answer ({detail}); check that it runs, and its address",
		WrongDatabaseURL:  "it is no address of a database; write it like postgres://user:password@host/database",
	}
}

// englishReasons are the words of why something is not reached.
func englishReasons() map[Reason]string {
	return map[Reason]string{
		ReasonRefused: "the connection is refused", ReasonNoHost: "there is no machine of this name", ReasonTime: "nothing came in time",
		ReasonCertificate: "its certificate is not valid", ReasonPassword: "the user or the password is wrong", ReasonNoDatabase: "there is no database of this name",
	}
}

// frenchFaults are the same in French.
func frenchFaults() map[Wrong]string {
	return map[Wrong]string{
		WrongAddress:      "l’adresse n’est pas bonne",
		WrongUnreached:    "{where} ne répond pas ({detail}) ; vérifiez l’adresse, et que le serveur tourne",
		WrongKey:          "{where} n’accepte pas cette clé ({detail}) ; recopiez-la",
		WrongModelDown:    "{where} a un problème ({detail}) ; réessayez dans un instant, ou choisissez-en un autre",
		WrongModelBusy:    "{where} demande d’attendre, ou le compte n’a plus de crédit ({detail}) ; vérifiez l’abonnement, ou réessayez dans une minute",
		WrongModel:        "{where} ne connaît pas ce modèle, ou il n’y a rien à cette adresse ({detail}) ; vérifiez les deux, l’adresse finit souvent par /v1",
		WrongModelWindow:  "la fenêtre du modèle est trop petite, même pour un mot ({detail}) ; choisissez-en un autre",
		WrongModelRefuses: "{where} refuse la requête ({detail}) ; choisissez un autre modèle",
		WrongModelCutOff:  "la réponse de {where} a été coupée ; vérifiez l’adresse, et que rien entre ici et là-bas n’interrompt les flux",
		WrongDatabase:     "la base ne répond pas ({detail}) ; vérifiez qu’elle tourne, et son adresse",
		WrongDatabaseURL:  "ce n’est pas l’adresse d’une base ; écrivez-la comme postgres://utilisateur:motdepasse@machine/base",
	}
}

func frenchReasons() map[Reason]string {
	return map[Reason]string{
		ReasonRefused: "la connexion est refusée", ReasonNoHost: "aucune machine ne porte ce nom", ReasonTime: "rien n’est venu à temps",
		ReasonCertificate: "son certificat n’est pas valable", ReasonPassword: "l’utilisateur ou le mot de passe n’est pas bon", ReasonNoDatabase: "aucune base ne porte ce nom",
	}
}
