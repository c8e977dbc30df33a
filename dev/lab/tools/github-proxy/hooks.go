package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
)

// hookPath matches the webhooks of a repository, and one of them.
var hookPath = regexp.MustCompile(`^(/api/v1/repos/[^/]+/[^/]+/hooks)(?:/(\d+))?$`)

// hiddenSecret is what GitHub shows in the place of a webhook's secret.
const hiddenSecret = "********"

// hookName is what the proxy keeps in the name of a webhook, which for GitHub is always "web": a mark of the
// secret, and the id by which clients know the webhook where that is not Gitea's.
var hookName = regexp.MustCompile(`^secret ([0-9a-f]{8})(?: as (\d+))?$`)

// requestHook adds to a new webhook what Gitea asks for, and lets a webhook's secret be changed.
func requestHook(gitea gitea, r *http.Request) error {
	path := hookPath.FindStringSubmatch(r.URL.Path)
	collection, id := path[1], path[2]
	if id == "" {
		if r.Method != http.MethodPost {
			return nil
		}
		sent, err := readObject(r)
		if err != nil {
			return err
		}
		giteaHook(sent, "")
		return writeObject(r, sent)
	}
	// Where Gitea does not show the webhooks, it will answer the request itself in the same way.
	answered, _ := gitea.call(r, http.MethodGet, collection, nil)
	current := hookKnownAs(id, objects(answered))
	if current == nil {
		return nil
	}
	r.URL.Path = fmt.Sprintf("%s/%v", collection, current["id"])
	if r.Method != http.MethodPatch {
		return nil
	}
	sent, err := readObject(r)
	if err != nil {
		return err
	}
	giteaHook(sent, id)
	if secretOf(sent) != secretOf(current) {
		return replaceHook(gitea, r, collection, sent)
	}
	sent["name"] = current["name"]
	return writeObject(r, sent)
}

// replaceHook does what Gitea passes over in silence: it goes on signing with the first secret of a webhook,
// whatever a later request says. So a webhook with the new secret takes the place of the one at the request's
// path, and clients go on knowing it by the old id. The request becomes one for what came of it.
func replaceHook(gitea gitea, r *http.Request, collection string, sent object) error {
	created, err := gitea.call(r, http.MethodPost, collection, sent)
	if err != nil {
		return err
	}
	if _, err := gitea.call(r, http.MethodDelete, r.URL.Path, nil); err != nil {
		return err
	}
	for _, hook := range objects(created) {
		r.URL.Path = fmt.Sprintf("%s/%v", collection, hook["id"])
	}
	r.Method, r.Body, r.ContentLength = http.MethodGet, http.NoBody, 0
	r.Header.Del("Content-Length")
	return nil
}

// giteaHook says which program's format the deliveries have, which GitHub has no need to ask: those of type
// "gitea" have GitHub's headers, X-GitHub-Event and X-Hub-Signature-256, beside Gitea's own. The id is the one
// that clients know, empty for a new webhook.
func giteaHook(sent object, id string) {
	config, _ := sent["config"].(object)
	secret, _ := config["secret"].(string)
	sent["type"] = "gitea"
	sent["name"] = "secret " + digest(secret)
	if id != "" {
		sent["name"] = fmt.Sprintf("%s as %s", sent["name"], id)
	}
}

// secretOf is the mark of a webhook's secret.
func secretOf(hook object) string {
	text, _ := hook["name"].(string)
	if parts := hookName.FindStringSubmatch(text); parts != nil {
		return parts[1]
	}
	return ""
}

// knownAs is the id by which clients know a webhook of Gitea's.
func knownAs(hook object) string {
	text, _ := hook["name"].(string)
	if parts := hookName.FindStringSubmatch(text); parts != nil && parts[2] != "" {
		return parts[2]
	}
	return fmt.Sprint(hook["id"])
}

// hookKnownAs finds a webhook by the id that clients know, nil if there is none.
func hookKnownAs(id string, hooks []object) object {
	for _, hook := range hooks {
		if knownAs(hook) == id {
			return hook
		}
	}
	return nil
}

// answerHook adds to the configuration what Gitea does not show: that there may be a secret, without which a
// client would think it lost, and that certificates are verified.
func answerHook(answered object) {
	answered["id"] = json.Number(knownAs(answered))
	answered["name"] = "web"
	if config, ok := answered["config"].(object); ok {
		config["secret"] = hiddenSecret
		config["insecure_ssl"] = "0"
	}
}
