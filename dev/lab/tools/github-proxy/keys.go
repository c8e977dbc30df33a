package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"
	"strings"
)

// keyPath matches the deploy keys of a repository, and one of them.
var keyPath = regexp.MustCompile(`^/api/v1/repos/[^/]+/[^/]+/keys(/\d+)?$`)

// titleMark is what requestKey puts after a title.
var titleMark = regexp.MustCompile(` \([0-9a-f]{8}\)$`)

// requestKey makes the title of a new key unique by the key, since GitHub allows two keys of one title in a
// repository and Gitea does not: a key could not be replaced by another one before it is deleted.
func requestKey(_ gitea, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	sent, err := readObject(r)
	if err != nil {
		return err
	}
	title, _ := sent["title"].(string)
	key, _ := sent["key"].(string)
	sent["title"] = title + " (" + digest(withoutComment(key)) + ")"
	return writeObject(r, sent)
}

// answerKey undoes requestKey, and leaves out the key's comment, which GitHub does not keep.
func answerKey(answered object) {
	if title, ok := answered["title"].(string); ok {
		answered["title"] = titleMark.ReplaceAllString(title, "")
	}
	if key, ok := answered["key"].(string); ok {
		answered["key"] = withoutComment(key)
	}
}

// withoutComment leaves type and data of a public key in OpenSSH's format.
func withoutComment(key string) string {
	fields := strings.Fields(key)
	return strings.Join(fields[:min(2, len(fields))], " ")
}

// digest is enough of a hash to tell the few values of one repository apart, and too little to find one by it.
func digest(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:4])
}
