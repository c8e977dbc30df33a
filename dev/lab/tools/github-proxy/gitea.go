package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// gitea is the server that the proxy stands before.
type gitea struct {
	url *url.URL
}

// call sends a request of the proxy's own, as whoever sent request, and returns what Gitea answers: an error
// unless it does as told.
func (g gitea) call(request *http.Request, method, path string, body object) (any, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	own, err := http.NewRequestWithContext(request.Context(), method, g.url.JoinPath(path).String(), &content)
	if err != nil {
		return nil, err
	}
	own.Header.Set("Authorization", request.Header.Get("Authorization"))
	own.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(own)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode/100 != 2:
		return nil, fmt.Errorf("Gitea answers %s to %s %s", response.Status, method, path)
	case response.StatusCode == http.StatusNoContent:
		return nil, nil
	}
	return decode(response.Body)
}
