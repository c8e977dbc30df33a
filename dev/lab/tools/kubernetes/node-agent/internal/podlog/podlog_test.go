package podlog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ptr[T any](value T) *T { return &value }

func logFile(t *testing.T, content string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestStreamSelects(t *testing.T) {
	long := strings.Repeat("x", 2*blockSize)
	cases := []struct {
		name, content string
		options       Options
		want          string
	}{
		{"everything", "a\nb\nc\n", Options{}, "a\nb\nc\n"},
		{"no lines", "a\nb\n", Options{TailLines: ptr(int64(0))}, ""},
		{"last line", "a\nb\nc\n", Options{TailLines: ptr(int64(1))}, "c\n"},
		{"last lines, unfinished", "a\nb\nc", Options{TailLines: ptr(int64(2))}, "b\nc"},
		{"more lines than there are", "a\nb\n", Options{TailLines: ptr(int64(9))}, "a\nb\n"},
		{
			"lines longer than a block",
			"a\n" + long + "\nc\n",
			Options{TailLines: ptr(int64(2))},
			long + "\nc\n",
		},
		{"empty lines", "a\n\n\n", Options{TailLines: ptr(int64(2))}, "\n\n"},
		{"empty log", "", Options{TailLines: ptr(int64(3))}, ""},
		{"limit", "abcdef\n", Options{LimitBytes: ptr(int64(3))}, "abc"},
		{"limit while following", "abcdef\n", Options{LimitBytes: ptr(int64(3)), Follow: true}, "abc"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			never := func() bool { return false }
			if err := Stream(t.Context(), &out, func() {}, logFile(t, c.content), c.options, never); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Fatalf("got %q, want %q", out.String(), c.want)
			}
		})
	}
}

func TestStreamFollowsToTheLastWord(t *testing.T) {
	file := logFile(t, "first\n")
	writer, err := os.OpenFile(file.Name(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	looks := 0
	ended := func() bool {
		looks++
		_, _ = writer.WriteString("more\n")
		return looks == 2
	}
	var out strings.Builder
	if err := Stream(t.Context(), &out, func() {}, file, Options{Follow: true}, ended); err != nil {
		t.Fatal(err)
	}
	if want := "first\nmore\nmore\n"; out.String() != want {
		t.Fatalf("got %q, want %q", out.String(), want)
	}
}

func TestLastLines(t *testing.T) {
	cases := []struct {
		content string
		limit   int64
		want    string
	}{
		{"a\nb\n", 100, "a\nb"},
		{"first\nsecond\nthird\n", 14, "second\nthird"},
		{"first\nsecond\nthird\n", 10, "third"},
		{"abcdefgh", 3, "fgh"},
		{"", 10, ""},
	}
	for _, c := range cases {
		if got := LastLines(logFile(t, c.content).Name(), c.limit); got != c.want {
			t.Errorf("last %d bytes of %q: got %q, want %q", c.limit, c.content, got, c.want)
		}
	}
	if got := LastLines("/does/not/exist", 10); got != "" {
		t.Errorf("a missing log has lines: %q", got)
	}
}

func TestBeginKeepsThePreviousRun(t *testing.T) {
	directory, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "app"}}
	for _, run := range []string{"one", "two", "three"} {
		file, err := directory.Begin(pod, "main")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = file.WriteString(run)
		file.Close()
	}
	current, _ := os.ReadFile(directory.Current(pod, "main"))
	previous, _ := os.ReadFile(directory.Previous(pod, "main"))
	if string(current) != "three" || string(previous) != "two" {
		t.Fatalf("current %q, previous %q", current, previous)
	}
}

func TestPruneKeepsTheLatestOfAWorkload(t *testing.T) {
	deployed := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "dev", Name: name, GenerateName: "app-6f7d8c9b5-",
				Labels: map[string]string{"pod-template-hash": "6f7d8c9b5"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		}
	}
	begin := time.Now()
	modified := map[string]time.Time{}
	oldestFirst := []string{
		"dev_app-6f7d8c9b5-aaaaa_main.log", // lives
		"dev_app-other-6f7d8c9b5-bbbbb_main.log",
		"dev_app-6f7d8c9b5-ccccc_main.log",
		"dev_app-6f7d8c9b5-ddddd_main.previous.log",
		"dev_app-55555-eeeee_main.log",
		"dev_app-55555-fffff_main.log",
		"dev_app-55555-ggggg_main.log",
		"dev_app-55555-hhhhh_main.log",
		"dev_app-55555-iiiii_main.log",
		"dev_app-55555-iiiii_sidecar.log",
		"prod_app-55555-iiiii_main.log",
	}
	for i, name := range oldestFirst {
		modified[name] = begin.Add(time.Duration(i) * time.Second)
	}
	got := superfluous(
		modified,
		deployed("app-6f7d8c9b5-ccccc"),
		"main",
		[]*corev1.Pod{deployed("app-6f7d8c9b5-aaaaa")},
	)
	want := []string{"dev_app-6f7d8c9b5-ddddd_main.previous.log", "dev_app-6f7d8c9b5-ccccc_main.log"}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}
