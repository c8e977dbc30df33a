package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

const (
	githubAPI = "/api/v3/"
	giteaAPI  = "/api/v1/"
	// bodyLimit is more than any of the objects that are translated takes.
	bodyLimit = 1 << 20
	// forwardedScheme is the header that tells Gitea how the client has asked.
	forwardedScheme = "X-Forwarded-Proto"
)

// chartIndex matches the index of an organisation's Helm repository.
var chartIndex = regexp.MustCompile(`^/api/packages/[^/]+/helm/index\.yaml$`)

// object is a JSON object.
type object = map[string]any

// translation is how the objects of one collection differ between GitHub and Gitea.
type translation struct {
	// path matches the collection and its objects in Gitea's API.
	path *regexp.Regexp
	// request changes a request of a client of GitHub into one that Gitea understands.
	request func(gitea gitea, r *http.Request) error
	// answer changes an object of Gitea's into one of GitHub's.
	answer func(answered object)
}

// translations are all the differences that this project's use of the API meets.
var translations = []*translation{
	{hookPath, requestHook, answerHook},
	{keyPath, requestKey, answerKey},
}

// translationOf finds what there is to translate for a path of Gitea's API, nil if nothing.
func translationOf(path string) *translation {
	for _, translation := range translations {
		if translation.path.MatchString(path) {
			return translation
		}
	}
	return nil
}

// newProxy makes what answers in the place of GitHub. The path of GitHub's API becomes that of Gitea's, which has
// been made after it; what still differs is translated.
func newProxy(upstream *url.URL) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			// Gitea names itself by the address that the client has asked, as where a token for images is to be had.
			r.Out.Host = r.In.Host
			r.Out.Header.Set(forwardedScheme, schemeOf(r.In))
			if path := r.Out.URL.Path; translationOf(path) != nil || chartIndex.MatchString(path) {
				// The transport asks for compression itself then, and undoes it.
				r.Out.Header.Del("Accept-Encoding")
			}
		},
		ModifyResponse: func(response *http.Response) error {
			if chartIndex.MatchString(response.Request.URL.Path) {
				return translateIndex(response, upstream)
			}
			return translateResponse(response)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, githubAPI) {
			r.URL.Path = giteaAPI + strings.TrimPrefix(r.URL.Path, githubAPI)
			r.URL.RawPath = strings.Replace(r.URL.RawPath, githubAPI, giteaAPI, 1)
			if translation := translationOf(r.URL.Path); translation != nil {
				if err := translation.request(gitea{upstream}, r); err != nil {
					refuse(w, err)
					return
				}
			}
		}
		forward.ServeHTTP(w, r)
	})
}

// readObject takes the body of a request.
func readObject(r *http.Request) (object, error) {
	var sent object
	if err := json.NewDecoder(io.LimitReader(r.Body, bodyLimit)).Decode(&sent); err != nil {
		return nil, fmt.Errorf("the body is no JSON object: %w", err)
	}
	return sent, nil
}

// writeObject makes an object the body of a request.
func writeObject(r *http.Request, sent object) error {
	body, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// translateResponse makes Gitea's objects in a response look like GitHub's.
func translateResponse(response *http.Response) error {
	translation := translationOf(response.Request.URL.Path)
	if translation == nil || response.StatusCode/100 != 2 || response.StatusCode == http.StatusNoContent {
		return nil
	}
	answered, err := decode(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	for _, each := range objects(answered) {
		translation.answer(each)
	}
	body, err := json.Marshal(answered)
	if err != nil {
		return err
	}
	setBody(response, body)
	return nil
}

// decode reads one JSON value; an id must not become a floating point number.
func decode(body io.Reader) (any, error) {
	decoder := json.NewDecoder(io.LimitReader(body, bodyLimit))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	return value, err
}

// translateIndex makes the index of a Helm repository name its charts by the address that the client has asked:
// Gitea names them by its own, whatever it is told of proxies.
func translateIndex(response *http.Response, upstream *url.URL) error {
	index, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	asked := url.URL{Scheme: response.Request.Header.Get(forwardedScheme), Host: response.Request.Host}
	own := url.URL{Scheme: upstream.Scheme, Host: upstream.Host}
	setBody(response, bytes.ReplaceAll(index, []byte(own.String()+"/"), []byte(asked.String()+"/")))
	return nil
}

// schemeOf is what a client has asked by.
func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// setBody replaces the body of a response.
func setBody(response *http.Response, body []byte) {
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// objects gives the objects of an answer, which is one of them or a list.
func objects(answered any) []object {
	items, isList := answered.([]any)
	if !isList {
		items = []any{answered}
	}
	var found []object
	for _, item := range items {
		if item, ok := item.(object); ok {
			found = append(found, item)
		}
	}
	return found
}

// refuse answers as GitHub does to what it cannot process.
func refuse(w http.ResponseWriter, reason error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(object{"message": reason.Error()})
}
