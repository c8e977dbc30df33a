package sandbox

import (
	"slices"
	"strings"
)

// mount is a directory of this machine and where the manifest says that it is.
type mount struct {
	path string
	host string
}

// longestFirst orders mounts so that one inside another is found before it.
func longestFirst(mounts []mount) []mount {
	slices.SortFunc(mounts, func(a, b mount) int { return len(b.path) - len(a.path) })
	return mounts
}

// rewritePaths replaces each path in text that leads into one of mounts, given longest first, by the path on
// this machine. A path counts only as a whole: "--dir=/data/x" leads into /data, "/database" and "/var/data"
// do not.
func rewritePaths(text string, mounts []mount) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		if found := mountAt(text, i, mounts); found != nil {
			out.WriteString(found.host)
			i += len(found.path)
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

// mountAt returns the mount whose path stands at text[i:], nil if there is none.
func mountAt(text string, i int, mounts []mount) *mount {
	if text[i] != '/' || i > 0 && !strings.ContainsRune("=,:;@<>|\"' \t\n([{", rune(text[i-1])) {
		return nil
	}
	for m := range mounts {
		rest, found := strings.CutPrefix(text[i:], mounts[m].path)
		if found && (rest == "" || strings.ContainsRune("/,:;<>|\"' \t\n)]}?&", rune(rest[0]))) {
			return &mounts[m]
		}
	}
	return nil
}
