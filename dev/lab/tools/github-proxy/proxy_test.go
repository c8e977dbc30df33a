package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// call is a request that reached Gitea.
type call struct {
	method, path, authorization string
	body                        object
}

// standIn takes the place of Gitea: it keeps what it is asked, and answers each path with what it holds for it.
type standIn struct {
	calls   []call
	answers map[string]string
}

func (g *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	made := call{method: r.Method, path: r.URL.RequestURI(), authorization: r.Header.Get("Authorization")}
	if body, _ := io.ReadAll(r.Body); len(body) > 0 {
		_ = json.Unmarshal(body, &made.body)
	}
	g.calls = append(g.calls, made)
	if answer, found := g.answers[r.Method+" "+r.URL.Path]; found {
		fmt.Fprint(w, answer)
		return
	}
	http.NotFound(w, r)
}

// serve starts a proxy before a stand-in with these answers, and gives its URL.
func serve(t *testing.T, answers map[string]string) (*standIn, string) {
	t.Helper()
	upstream := &standIn{answers: answers}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(newProxy(address))
	t.Cleanup(proxy.Close)
	return upstream, proxy.URL
}

func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer abc")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestTheAddressThatTheClientHasAskedIsTheOneThatItIsTold(t *testing.T) {
	var own string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			fmt.Fprintf(w, "%s://%s/v2/token", r.Header.Get("X-Forwarded-Proto"), r.Host)
			return
		}
		// Gitea's index, and any other file.
		fmt.Fprintf(w, "urls: [%s/charts/app-1.0.0.tgz]", own)
	}))
	t.Cleanup(upstream.Close)
	own = upstream.URL
	address, err := url.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
		proxy := start(newProxy(address))
		t.Cleanup(proxy.Close)
		for path, wanted := range map[string]string{
			"/v2/":                                   proxy.URL + "/v2/token",
			"/api/packages/dev-team/helm/index.yaml": "urls: [" + proxy.URL + "/charts/app-1.0.0.tgz]",
			"/dev-team/apps/raw/index.yaml":          "urls: [" + own + "/charts/app-1.0.0.tgz]",
		} {
			response, err := proxy.Client().Get(proxy.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if string(answer) != wanted {
				t.Errorf("%s%s: %s, not %s", proxy.URL, path, answer, wanted)
			}
		}
	}
}

// fields decodes an answer, numbers as they are written.
func fields(t *testing.T, answer string) object {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewBufferString(answer))
	decoder.UseNumber()
	var found object
	if err := decoder.Decode(&found); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
	return found
}

func TestOnlyThePathOfTheAPIChanges(t *testing.T) {
	upstream, proxy := serve(t, nil)
	for sent, want := range map[string]string{
		"/api/v3/orgs/dev": "/api/v1/orgs/dev",
		"/api/v3/repos/dev/apps/contents/a%2Fb?ref=api":   "/api/v1/repos/dev/apps/contents/a%2Fb?ref=api",
		"/dev/apps.git/info/refs?service=git-upload-pack": "/dev/apps.git/info/refs?service=git-upload-pack",
		"/api/healthz":     "/api/healthz",
		"/dev/api/v3/x":    "/dev/api/v3/x",
		"/api/v1/orgs/dev": "/api/v1/orgs/dev",
	} {
		upstream.calls = nil
		send(t, http.MethodGet, proxy+sent, "")
		if got := upstream.calls[0]; got.path != want || got.authorization != "Bearer abc" {
			t.Errorf("%s became %s as %q, want %s", sent, got.path, got.authorization, want)
		}
	}
}

func TestErrorsOfGiteaStayAsTheyAre(t *testing.T) {
	_, proxy := serve(t, nil)
	status, answer := send(t, http.MethodGet, proxy+"/api/v3/repos/dev/apps/hooks/1", "")
	if status != http.StatusNotFound || !strings.Contains(answer, "404 page not found") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestAServerThatIsDownIsABadGateway(t *testing.T) {
	proxy := httptest.NewServer(newProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}))
	t.Cleanup(proxy.Close)
	for _, method := range []string{http.MethodGet, http.MethodPatch} {
		if status, _ := send(t, method, proxy.URL+"/api/v3/repos/dev/apps/hooks/1", "{}"); status != http.StatusBadGateway {
			t.Errorf("%s: %d", method, status)
		}
	}
}

const (
	hooks   = "/api/v1/repos/dev/apps/hooks"
	newHook = `{"name": "web", "active": true, "events": ["push"],
		"config": {"url": "http://127.0.0.1/hook/x", "content_type": "json", "secret": "s3cret"}}`
	// An id that a floating point number cannot hold.
	giteasHook = `{"id": 9007199254740993, "type": "gitea", "name": "%s", "active": true, "events": ["push"],
		"config": {"url": "http://127.0.0.1/hook/x", "content_type": "json"}}`
)

func TestAWebhookIsCreatedAsOneWithGitHubsHeaders(t *testing.T) {
	upstream, proxy := serve(t, map[string]string{"POST " + hooks: fmt.Sprintf(giteasHook, "secret x")})

	_, answer := send(t, http.MethodPost, proxy+"/api/v3/repos/dev/apps/hooks", newHook)

	got := upstream.calls[0].body
	if config := got["config"].(object); got["type"] != "gitea" || config["secret"] != "s3cret" || got["active"] != true {
		t.Errorf("Gitea got %v", got)
	}
	if name := got["name"].(string); name == "web" || strings.Contains(name, "s3cret") {
		t.Errorf("the name is %q", name)
	}
	hook := fields(t, answer)
	if hook["id"] != json.Number("9007199254740993") || hook["name"] != "web" {
		t.Errorf("the client got %v", hook)
	}
	if config := hook["config"].(object); config["secret"] != hiddenSecret || config["insecure_ssl"] != "0" {
		t.Errorf("the client got the configuration %v", config)
	}
}

// hookNamed is Gitea's webhook with an id and the name that the proxy gives to what a client sends.
func hookNamed(t *testing.T, id int, sent, knownAs string) string {
	t.Helper()
	hook := fields(t, sent)
	giteaHook(hook, knownAs)
	return fmt.Sprintf(
		`{"id": %d, "type": "gitea", "name": %q, "config": {"url": "http://127.0.0.1/hook/x"}}`, id, hook["name"],
	)
}

func TestAWebhookWithTheSameSecretIsEdited(t *testing.T) {
	current := hookNamed(t, 7, newHook, "")
	upstream, proxy := serve(t, map[string]string{"GET " + hooks: "[" + current + "]", "PATCH " + hooks + "/7": current})

	status, answer := send(t, http.MethodPatch, proxy+"/api/v3/repos/dev/apps/hooks/7", newHook)

	last := upstream.calls[len(upstream.calls)-1]
	if status != http.StatusOK || last.method != http.MethodPatch || last.authorization != "Bearer abc" {
		t.Errorf("%d after %v", status, upstream.calls)
	}
	if want := fields(t, current)["name"]; last.body["name"] != want {
		t.Errorf("the name became %v instead of %v", last.body["name"], want)
	}
	if fields(t, answer)["id"] != json.Number("7") {
		t.Errorf("the client got %s", answer)
	}
}

func TestAnotherSecretIsThatOfANewWebhookKnownByTheOldId(t *testing.T) {
	old := hookNamed(t, 7, `{"config": {"secret": "old"}}`, "")
	replacement := hookNamed(t, 8, newHook, "7")
	upstream, proxy := serve(t, map[string]string{
		"GET " + hooks: "[" + old + "]", "POST " + hooks: replacement, "DELETE " + hooks + "/7": "{}",
		"GET " + hooks + "/8": replacement,
	})

	status, answer := send(t, http.MethodPatch, proxy+"/api/v3/repos/dev/apps/hooks/7", newHook)

	var made []string
	for _, call := range upstream.calls {
		made = append(made, call.method+" "+strings.TrimPrefix(call.path, hooks))
		if call.authorization != "Bearer abc" {
			t.Errorf("%s %s was sent as %q", call.method, call.path, call.authorization)
		}
	}
	if want := "GET , POST , DELETE /7, GET /8"; strings.Join(made, ", ") != want {
		t.Errorf("Gitea was asked %q, want %q", made, want)
	}
	if created := upstream.calls[1].body; created["config"].(object)["secret"] != "s3cret" || created["type"] != "gitea" {
		t.Errorf("the new webhook is %v", created)
	}
	if status != http.StatusOK || fields(t, answer)["id"] != json.Number("7") {
		t.Errorf("the client got %d %s", status, answer)
	}
}

func TestAReplacedWebhookIsFoundListedAndDeletedByTheOldId(t *testing.T) {
	replacement := hookNamed(t, 8, newHook, "7")
	upstream, proxy := serve(t, map[string]string{
		"GET " + hooks: "[" + replacement + "]", "GET " + hooks + "/8": replacement, "DELETE " + hooks + "/8": "{}",
	})
	for path, method := range map[string]string{"/7": http.MethodGet, "": http.MethodGet} {
		_, answer := send(t, method, proxy+"/api/v3/repos/dev/apps/hooks"+path, "")
		if fields(t, strings.Trim(answer, "[]"))["id"] != json.Number("7") {
			t.Errorf("%q: the client got %s", path, answer)
		}
	}
	send(t, http.MethodDelete, proxy+"/api/v3/repos/dev/apps/hooks/7", "")
	if last := upstream.calls[len(upstream.calls)-1]; last.method+last.path != "DELETE"+hooks+"/8" {
		t.Errorf("the last call was %v", last)
	}
}

func TestABodyThatIsNoObjectIsRefused(t *testing.T) {
	_, proxy := serve(t, nil)
	if status, _ := send(t, http.MethodPost, proxy+"/api/v3/repos/dev/apps/keys", "[]"); status != 422 {
		t.Errorf("%d", status)
	}
}

const keys = "/api/v1/repos/dev/apps/keys"

func TestDeployKeysOfOneTitleDifferForGitea(t *testing.T) {
	upstream, proxy := serve(t, map[string]string{"POST " + keys: "{}"})
	for _, key := range []string{"ssh-ed25519 AAAA", "ssh-ed25519 BBBB", "ssh-ed25519 AAAA me@here"} {
		send(t, http.MethodPost, proxy+"/api/v3/repos/dev/apps/keys", fmt.Sprintf(`{"title": "flux", "key": %q}`, key))
	}
	var titles []string
	for _, call := range upstream.calls {
		titles = append(titles, call.body["title"].(string))
	}
	if titles[0] == titles[1] || titles[0] != titles[2] || !strings.HasPrefix(titles[0], "flux (") {
		t.Errorf("titles %q", titles)
	}
}

func TestDeployKeysAreShownAsTheyWereSentWithoutComment(t *testing.T) {
	const stored = `{"title": "flux (0123abcd) (4567ef01)", "key": "ssh-ed25519 AAAA me@here"}`
	_, proxy := serve(t, map[string]string{"GET " + keys + "/1": stored, "GET " + keys: "[" + stored + "]"})
	_, one := send(t, http.MethodGet, proxy+"/api/v3/repos/dev/apps/keys/1", "")
	_, all := send(t, http.MethodGet, proxy+"/api/v3/repos/dev/apps/keys", "")
	for _, answer := range []string{one, strings.Trim(all, "[]")} {
		if key := fields(t, answer); key["title"] != "flux (0123abcd)" || key["key"] != "ssh-ed25519 AAAA" {
			t.Errorf("the client got %v", key)
		}
	}
}
