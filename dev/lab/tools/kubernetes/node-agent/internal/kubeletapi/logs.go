package kubeletapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/podlog"
)

// errNoTimes is the answer to requests that select lines by time.
var errNoTimes = errors.New(
	"logs are kept as the processes write them, without times: ask for lines with tailLines (--tail)",
)

// streamLog sends the log of a container.
func streamLog(w http.ResponseWriter, r *http.Request, pods Pods) {
	options, previous, err := logOptions(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	file, ended, err := pods.OpenLog(
		r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"), previous,
	)
	if err != nil {
		http.Error(w, err.Error(), status(err))
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flusher := http.NewResponseController(w)
	// The answer has begun: an error can only cut it off, and the reader sees that by itself.
	_ = podlog.Stream(r.Context(), w, func() { _ = flusher.Flush() }, file, options, ended)
}

// logOptions reads the parameters of the request. Unknown ones are left alone, as a kubelet does.
func logOptions(query url.Values) (options podlog.Options, previous bool, err error) {
	if query.Has("sinceSeconds") || query.Has("sinceTime") {
		return options, false, errNoTimes
	}
	number := func(name string) *int64 {
		if err != nil || !query.Has(name) {
			return nil
		}
		value, parseErr := strconv.ParseUint(query.Get(name), 10, 63)
		if parseErr != nil {
			err = fmt.Errorf("%s is %q, not a number of zero or more", name, query.Get(name))
		}
		signed := int64(value)
		return &signed
	}
	flag := func(name string) bool {
		set, parseErr := strconv.ParseBool(query.Get(name))
		return parseErr == nil && set
	}
	options = podlog.Options{
		TailLines:  number("tailLines"),
		LimitBytes: number("limitBytes"),
		Follow:     flag("follow"),
	}
	return options, flag("previous"), err
}

func status(err error) int {
	switch {
	case errdefs.IsNotFound(err):
		return http.StatusNotFound
	case errdefs.IsInvalidInput(err):
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError
	}
}
