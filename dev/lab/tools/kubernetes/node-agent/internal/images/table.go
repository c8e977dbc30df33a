// Package images knows which container images run as which programs of this machine.
package images

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/distribution/reference"
)

// Table is the image table: a JSON file that is read again whenever it has changed.
type Table struct {
	path string
	log  *slog.Logger

	mu       sync.Mutex
	modified time.Time
	programs map[string]Program
}

// Open reads the image table at path.
func Open(path string, log *slog.Logger) (*Table, error) {
	table := &Table{path: path, log: log}
	if err := table.refresh(); err != nil {
		return nil, err
	}
	return table, nil
}

// Lookup returns the program that image stands for, and whether there is one. A table that has become
// unreadable is reported, and the last good one stays in force.
func (t *Table) Lookup(image string) (Program, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refresh(); err != nil {
		t.log.Warn("keeping the last good image table", "error", err)
	}
	program, known := t.programs[canonical(image)]
	return program, known
}

// refresh reads the file if it is another one than the last time.
func (t *Table) refresh() error {
	info, err := os.Stat(t.path)
	if err != nil {
		return fmt.Errorf("image table: %w", err)
	}
	if info.ModTime().Equal(t.modified) {
		return nil
	}
	content, err := os.ReadFile(t.path)
	if err != nil {
		return fmt.Errorf("image table: %w", err)
	}
	programs, err := parse(content)
	if err != nil {
		return fmt.Errorf("image table %s: %w", t.path, err)
	}
	t.modified, t.programs = info.ModTime(), programs
	return nil
}

// parse reads the content of an image table, keyed by canonical image name.
func parse(content []byte) (map[string]Program, error) {
	var file struct {
		Images []struct {
			Image string `json:"image"`
			Program
		} `json:"images"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, err
	}
	programs := make(map[string]Program, len(file.Images))
	for _, entry := range file.Images {
		if entry.Image == "" || entry.Binary == "" {
			return nil, fmt.Errorf("image %q: both image and binary are needed", entry.Image)
		}
		if _, err := entry.Program.For(Target{}); err != nil {
			return nil, fmt.Errorf("image %q: %w", entry.Image, err)
		}
		programs[canonical(entry.Image)] = entry.Program
	}
	return programs, nil
}

// canonical gives the full name of an image, so that "nginx" and "docker.io/library/nginx:latest" are the
// same.
func canonical(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return reference.TagNameOnly(named).String()
}
