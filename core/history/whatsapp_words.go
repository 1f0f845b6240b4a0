package history

import (
	"slices"
	"strings"
)

// matches reports whether a text is one of words, regardless of case, marks and a final
// sign; it may hold one with a star anywhere.
func matches(words []string, text string) bool {
	text = strings.ToLower(strings.TrimSpace(unmarked(text)))
	return slices.ContainsFunc(words, func(w string) bool {
		if rest, ok := strings.CutPrefix(w, "*"); ok {
			return strings.Contains(text, rest)
		}
		return strings.HasPrefix(text, w) && len(text) <= len(w)+3
	})
}

// deletedWords replace a deleted message.
func deletedWords() []string {
	return []string{"this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
		"du hast diese nachricht gelöscht", "ce message a été supprimé", "vous avez supprimé ce message",
		"se eliminó este mensaje", "este mensaje fue eliminado", "eliminaste este mensaje",
		"questo messaggio è stato eliminato", "hai eliminato questo messaggio", "mensagem apagada",
		"essa mensagem foi apagada", "você apagou esta mensagem", "você apagou essa mensagem", "dit bericht is verwijderd",
		"u hebt dit bericht verwijderd", "je hebt dit bericht verwijderd", "ta wiadomość została usunięta",
		"usunięto tę wiadomość", "данное сообщение удалено", "вы удалили данное сообщение", "bu mesaj silindi",
		"bu mesajı sildiniz", "此訊息已刪除", "此消息已删除", "このメッセージは削除されました", "삭제된 메시지입니다"}
}

// noticeWords are notices of WhatsApp that have a speaker.
func noticeWords() []string {
	return []string{"missed voice call", "missed video call", "verpasster sprachanruf", "verpasster videoanruf",
		"appel vocal manqué", "appel vidéo manqué", "llamada perdida", "videollamada perdida", "chiamata persa",
		"videochiamata persa", "null", "waiting for this message"}
}

// ledWords occur in notices that begin with a mark of direction: people write them too.
func ledWords() []string {
	return []string{"*end-to-end encrypted", "*ende-zu-ende-verschlüsselt", "*chiffrés de bout en bout",
		"*cifrados de extremo a extremo", "*crittografati end-to-end", "*criptografia de ponta a ponta",
		"*end-to-end versleuteld", "*w pełni szyfrowane", "*защищены сквозным шифрованием", "*uçtan uca şifreli",
		"*changed their phone number", "*changed to +", "*telefonnummer gewechselt", "*telefonnummer geändert",
		"*changé de numéro", "*cambió su número", "*cambiado de número", "*cambiato numero", "*mudou de número",
		"*mudou seu número", "*telefoonnummer gewijzigd", "*zmienił numer", "*zmieniła numer", "*номер телефона изменён",
		"*сменил номер"}
}

// attachedWords follow the name of an attached file in parentheses.
func attachedWords() []string {
	return []string{"*attached)", "*angehängt)", "*fichier joint)", "*adjunto)", "*allegato)", "*anexado)", "*bijgevoegd)",
		"*dołączony)", "*załączono)", "*добавлен)", "*прикреплен)", "*ekli)", "*附件)", "*添付)", "*添付ファイル)", "*첨부)", "*첨부됨)",
		"*مرفق)", "*bifogad)", "*vedlagt)", "*vedhæftet)", "*liitetty)"}
}

// omittedKind returns the kind of a file that the export omits, by its text; empty: the
// text names none.
func omittedKind(text string) string {
	text = strings.ToLower(strings.TrimSpace(unmarked(text)))
	left := []string{"omitted", "weggelassen", "omis", "omise", "omesso", "omessa", "omitido", "omitida", "omitted.",
		"ocultado", "weggelaten", "pominięto", "опущено"}
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 4 || !slices.Contains(left, words[len(words)-1]) {
		return ""
	}
	for kind, names := range map[string][]string{"photo": {"image", "bild", "imagen", "immagine", "imagem", "afbeelding",
		"foto", "photo", "изображение"}, "video": {"video", "vidéo", "vídeo", "видео", "gif"},
		"voice": {"audio", "ton", "аудио"}, "sticker": {"sticker", "autocollant", "figurinha", "стикер"},
		"document": {"document", "dokument", "documento", "документ"}} {
		if slices.Contains(names, words[0]) {
			return kind
		}
	}
	return "file"
}
