package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is a file or a folder of an archive.
type file struct {
	name string // a folder's ends with /
	mode int64
	user int // the group is always 0
	data []byte
}

// archive packs files into a folder of a .tar.gz or .zip file. Programs are those
// whose mode says so.
func archive(out string, at time.Time, folder string, paths []string) error {
	var files []file
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files = append(files, file{name: path.Join(folder, filepath.Base(p)), mode: mode, data: data})
	}
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(out, ".zip") {
		err = writeZip(&b, at, files)
	} else {
		z := gzip.NewWriter(&b)
		err = errors.Join(writeTar(z, at, files), z.Close())
	}
	if err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

func writeTar(w io.Writer, at time.Time, files []file) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.user, Size: int64(len(f.data)),
			ModTime: at, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, at time.Time, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode))
		one, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := one.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
