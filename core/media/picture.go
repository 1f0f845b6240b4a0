package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // read the sizes of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"net/http"
	"slices"

	_ "golang.org/x/image/webp" // likewise
)

// mostPixels bounds the pictures of tools, because a small file may decode to a very large
// picture. It is the bound of the most restrictive service.
const mostPixels = 25_000_000

// checkPicture returns the type of a foreign picture, or why it is not shown. It relies only
// on the content, and decodes only the size.
func checkPicture(data []byte) (string, error) {
	seen := http.DetectContentType(data)
	if !slices.Contains(seenByModels, seen) {
		return "", errors.New("it is no picture that is shown: PNG, JPEG, WebP or GIF")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return "", errors.New("the picture cannot be read")
	case c.Width <= 0 || c.Height <= 0 || c.Width > mostPixels/c.Height:
		return "", fmt.Errorf("the picture is too large: %d × %d pixels", c.Width, c.Height)
	}
	return seen, nil
}
