package podlog

import (
	"context"
	"io"
	"math"
	"os"
	"time"
)

// followInterval is how often a followed log is looked at for more.
const followInterval = 200 * time.Millisecond

// Options say which part of a log a reader wants, as the parameters of the same names of `kubectl logs` do.
type Options struct {
	// TailLines is the number of last lines to begin with, nil for all of them.
	TailLines *int64
	// LimitBytes is the most to send, nil for no limit.
	LimitBytes *int64
	// Follow waits for more until Ended says that nothing is to come.
	Follow bool
}

// Stream copies file to out until its end, or, if it is followed, until ended says that its writer is gone.
// Each part is flushed as it arrives.
func Stream(
	ctx context.Context, out io.Writer, flush func(), file *os.File, options Options, ended func() bool,
) error {
	if options.TailLines != nil {
		offset, err := offsetOfLastLines(file, *options.TailLines)
		if err != nil {
			return err
		}
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			return err
		}
	}
	limited := &io.LimitedReader{R: file, N: math.MaxInt64}
	if options.LimitBytes != nil {
		limited.N = *options.LimitBytes
	}
	for {
		// Asked before copying: what a writer left before it ended is still read.
		last := !options.Follow || limited.N <= 0 || ended()
		if _, err := io.Copy(out, limited); err != nil {
			return err
		}
		flush()
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
	}
}
