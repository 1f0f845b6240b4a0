package channel

import (
	"fmt"
	"strings"

	"github.com/everthread/everthread/core"
)

// Content is what a message of a chat service says.
type Content struct {
	// Text holds the sender's words, and a placeholder in brackets for everything else. Empty: there is nothing to answer.
	Text  string
	Files []core.Attachment
	// Foreign: the placeholders hold words that others may have written.
	Foreign bool
}

// Words returns what the sender typed.
func Words(text string) Content { return Content{Text: text} }

// Object returns the placeholder of content that is neither the sender's words nor a file, such as a contact card, a
// poll or a message of an unknown type. Its words count as written by others; see Bare for content without words.
func Object(kind string, words ...string) Content {
	c := Bare(kind, words...)
	c.Foreign = true
	return c
}

// Bare returns the placeholder of content that holds nobody's words, such as a position or a dice.
func Bare(kind string, words ...string) Content {
	for i, w := range words {
		words[i] = Label(w)
	}
	return Content{Text: "[" + strings.Join(strings.Fields(kind+" "+strings.Join(words, " ")), " ") + "]"}
}

// File returns a file with its placeholder: the label, and what the sender wrote below the file.
func File(label, caption string, a core.Attachment) Content {
	c := Bare("", label)
	if strings.TrimSpace(caption) != "" {
		c.Text = strings.TrimSuffix(c.Text, "]") + ": " + caption + "]"
	}
	if a.Ref != "" {
		c.Files = []core.Attachment{a}
	}
	return c
}

// With returns c followed by more content on its own line. Without text of its own it says nothing, and more neither.
func (c Content) With(more Content) Content {
	if c.Text == "" || more.Text == "" {
		return c
	}
	return Content{c.Text + "\n" + more.Text, append(c.Files, more.Files...), c.Foreign || more.Foreign}
}

// Fill sets the text, the files and the mark of an event.
func (c Content) Fill(in *core.Inbound) {
	in.Text, in.Attachments, in.Tainted = c.Text, c.Files, c.Foreign
}

// Label returns words as they may stand in a placeholder: on one line, and without brackets that would end it.
func Label(words string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(strings.Join(strings.Fields(words), " "))
}

// Position returns coordinates in words.
func Position(latitude, longitude float64) string {
	return fmt.Sprintf("%.5f,%.5f", latitude, longitude)
}

// Choices returns the options of a poll or the entries of a list, in parentheses.
func Choices(options []string) string {
	var named []string
	for _, o := range options {
		if o = Label(o); o != "" {
			named = append(named, o)
		}
	}
	if len(named) == 0 {
		return ""
	}
	return "(" + strings.Join(named, " / ") + ")"
}
