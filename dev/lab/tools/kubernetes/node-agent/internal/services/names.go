// Package services does for the processes of this node what cluster DNS and kube-proxy do for containers.
package services

import (
	"regexp"
	"strconv"
	"strings"
)

// Name is a service as it is named in an argument or a variable.
type Name struct {
	Namespace string
	Service   string
	// Port is the port written after the name, 0 for none.
	Port int32
	// DefaultPort is the one that the text implies when it names none: that of the URL's scheme, or 0.
	DefaultPort int32
}

// serviceName matches <service>.<namespace>.svc[.cluster.local][.][:<port>].
var serviceName = regexp.MustCompile(`([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?\.?(?::(\d{1,5}))?`)

// RewriteNames replaces the DNS names of services in text by what address returns for them. A name stays as
// it is when address returns "".
func RewriteNames(text string, address func(Name) string) string {
	var out strings.Builder
	copied := 0
	for _, match := range serviceName.FindAllStringSubmatchIndex(text, -1) {
		begin, end := match[0], match[1]
		if !standsAlone(text, begin, end) {
			continue
		}
		name := Name{Service: text[match[2]:match[3]], Namespace: text[match[4]:match[5]]}
		if match[6] >= 0 {
			port, err := strconv.ParseUint(text[match[6]:match[7]], 10, 16)
			if err != nil {
				continue
			}
			name.Port = int32(port)
		}
		name.DefaultPort = schemePort(text[:begin])
		if replacement := address(name); replacement != "" {
			out.WriteString(text[copied:begin] + replacement)
			copied = end
		}
	}
	return out.String() + text[copied:]
}

// standsAlone says whether text[begin:end] is a whole host name and not part of a longer one.
func standsAlone(text string, begin, end int) bool {
	inName := func(char byte) bool {
		return char == '-' || char == '_' || '0' <= char && char <= '9' || 'a' <= char && char <= 'z' ||
			'A' <= char && char <= 'Z'
	}
	if begin > 0 && (text[begin-1] == '.' || inName(text[begin-1])) {
		return false
	}
	return end == len(text) || !inName(text[end])
}

// schemePort returns the port that a URL implies whose text before the host is given, 0 if it is none.
func schemePort(before string) int32 {
	switch {
	case strings.HasSuffix(before, "http://"):
		return 80
	case strings.HasSuffix(before, "https://"):
		return 443
	default:
		return 0
	}
}
