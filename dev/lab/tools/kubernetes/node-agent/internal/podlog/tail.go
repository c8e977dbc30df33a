package podlog

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"k8s.io/kubernetes/pkg/util/tail"
)

// blockSize is how much of a log is read at once when looking for line ends from its end.
const blockSize = 32 << 10

// LastLines returns the last whole lines of the log at path, limit bytes at the most, and nothing if it
// cannot be read. A single line longer than that is cut at its beginning.
func LastLines(path string, limit int64) string {
	content, cut, err := tail.ReadAtMost(path, limit)
	if err != nil {
		return ""
	}
	if firstEnd := bytes.IndexByte(content, '\n'); cut && firstEnd >= 0 && firstEnd < len(content)-1 {
		content = content[firstEnd+1:]
	}
	return strings.TrimRight(strings.ToValidUTF8(string(content), "�"), "\n")
}

// offsetOfLastLines returns where the last n lines of file begin.
func offsetOfLastLines(file io.ReadSeeker, n int64) (int64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || n <= 0 {
		return size, err
	}
	block := make([]byte, blockSize)
	// The line end that closes the last line begins no other line.
	for end := size - 1; end > 0; {
		begin := max(0, end-blockSize)
		if _, err := file.Seek(begin, io.SeekStart); err != nil {
			return 0, err
		}
		read, err := io.ReadFull(file, block[:end-begin])
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		for i := read - 1; i >= 0; i-- {
			if block[i] != '\n' {
				continue
			}
			if n--; n == 0 {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}
