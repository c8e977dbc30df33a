package limits

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestLimitsOfAManifest(t *testing.T) {
	got := Of(corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("64Mi"), corev1.ResourceCPU: resource.MustParse("1500m"),
	})
	if want := (Limits{Memory: 64 << 20, CPU: 1500}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Of(nil); got != (Limits{}) {
		t.Errorf("got %+v without limits", got)
	}
}

func TestQuota(t *testing.T) {
	for cpu, want := range map[int64]string{1: "1000", 10: "1000", 250: "25000", 2000: "200000"} {
		if got := (Limits{CPU: cpu}).quota(); got != want {
			t.Errorf("%d thousandths of a core are %s µs, want %s", cpu, got, want)
		}
	}
}

func TestLocate(t *testing.T) {
	cases := map[string]struct {
		cgroups, mountinfo string
		want               hierarchies
	}{
		"version 1, each controller mounted on its own": {
			"4:memory:/user\n1:cpu:/\n0::/\n",
			`30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
31 25 0:27 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 25 0:30 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
39 25 0:35 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`,
			hierarchies{
				memory: place{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/user"},
				cpu:    place{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu"},
			},
		},
		"version 1 in a container, which sees its own group as the top": {
			"4:memory:/docker/1\n3:cpu,cpuacct:/docker/1/lab\n",
			`30 25 0:26 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 25 0:30 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
`,
			hierarchies{
				memory: place{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"},
				cpu:    place{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/lab"},
			},
		},
		"version 2": {
			"0::/user.slice/user-0.slice/session-1.scope\n",
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			hierarchies{
				unified: true,
				memory:  place{"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope"},
				cpu:     place{"/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope"},
			},
		},
	}
	for name, test := range cases {
		if got, err := locate(test.cgroups, test.mountinfo); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	hidden := "30 25 0:26 /docker/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, cgroups := range []string{"", "0::/\n", "0::/docker/10\n"} {
		if got, err := locate(cgroups, hidden); err == nil {
			t.Errorf("%q: got %+v", cgroups, got)
		}
	}
}

// tree makes directories with files, by their content, as the kernel would.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func content(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestFilesOfVersion1(t *testing.T) {
	root := tree(t, map[string]string{
		"memory/memory.limit_in_bytes": "", "cpu/cpu.cfs_period_us": "", "cpu/cpu.cfs_quota_us": "",
	})
	group := &Group{node: &Node{}, memory: filepath.Join(root, "memory"), cpu: filepath.Join(root, "cpu")}
	if err := group.apply(Limits{Memory: 64 << 20, CPU: 500}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"memory/memory.limit_in_bytes": "67108864",
		"cpu/cpu.cfs_period_us":        "100000",
		"cpu/cpu.cfs_quota_us":         "50000",
	} {
		if got := content(t, filepath.Join(root, path)); got != want {
			t.Errorf("%s has %q", path, got)
		}
	}
}

func TestFilesOfVersion2(t *testing.T) {
	root := tree(t, map[string]string{
		"memory.max": "", "memory.swap.max": "", "memory.oom.group": "", "cpu.max": "",
	})
	group := &Group{node: &Node{unified: true}, memory: root, cpu: root}
	if err := group.apply(Limits{Memory: 64 << 20, CPU: 500}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1", "cpu.max": "50000 100000",
	} {
		if got := content(t, filepath.Join(root, file)); got != want {
			t.Errorf("%s has %q", file, got)
		}
	}
}

func TestNoLimitWritesNoFile(t *testing.T) {
	for _, unified := range []bool{false, true} {
		group := &Group{node: &Node{unified: unified}, memory: t.TempDir(), cpu: t.TempDir()}
		if err := group.apply(Limits{}); err != nil {
			t.Error(err)
		}
		if err := group.apply(Limits{Memory: 1}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a limit without its file: %v", err)
		}
	}
}

func TestOOMKilled(t *testing.T) {
	root := tree(t, map[string]string{
		"1/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
		"2/memory.events":      "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n",
		"3/memory.events":      "low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n",
	})
	cases := map[string]Group{
		"1": {node: &Node{}}, "2": {node: &Node{unified: true}}, "3": {node: &Node{unified: true}},
	}
	for name, group := range cases {
		group.memory = filepath.Join(root, name)
		if got := group.OOMKilled(); got != (name != "3") {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWhatAnEarlierAgentLeftIsRemovedAndNothingElse(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"memory/node/one", "memory/node/two", "memory/node-2/one", "cpu/node"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	node := &Node{memory: filepath.Join(root, "memory/node"), cpu: filepath.Join(root, "cpu/node")}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{"memory/node": false, "cpu/node": false, "memory/node-2/one": true} {
		if _, err := os.Stat(filepath.Join(root, dir)); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestAMachineThatHasNoFilesForLimitsIsRefusedAndLeftAsItWas(t *testing.T) {
	for _, unified := range []bool{false, true} {
		root := tree(t, map[string]string{subtreeControl: ""})
		here := place{root, root}
		if _, err := open(hierarchies{unified, here, here}, "node"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("unified %t: %v", unified, err)
		}
		if _, err := os.Stat(filepath.Join(root, "node")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("unified %t: the group of the node is still there", unified)
		}
		if got := content(t, filepath.Join(root, subtreeControl)); (got == "+memory +cpu") != unified {
			t.Errorf("unified %t: the top gives %q", unified, got)
		}
	}
}

func TestWithoutGroupsProcessesStartAllTheSame(t *testing.T) {
	node := &Node{}
	group, err := node.Group("any", Limits{Memory: 1, CPU: 1})
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/bin/sleep", "0")
	if err := group.Start(command); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil || group.OOMKilled() {
		t.Errorf("OOMKilled %t, %v", group.OOMKilled(), err)
	}
	if err := errors.Join(group.Remove(), node.Close()); err != nil {
		t.Error(err)
	}
}

// realNode makes a node's group on this machine, if this user may.
func realNode(t *testing.T) *Node {
	t.Helper()
	node, err := Open("flux-tenancy-limits-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skipf("no control groups: %v", err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
		for _, dir := range node.dirs() {
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", dir, err)
			}
		}
	})
	return node
}

// begin starts a script in a group of its own, from a thread that stays where it was.
func begin(t *testing.T, node *Node, limits Limits, script string) (*Group, *exec.Cmd) {
	t.Helper()
	group, err := node.Group("one", limits)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("/bin/sh", "-c", script)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := groupsOf(t, "thread-self")
	if err := group.Start(command); err != nil {
		t.Fatal(err)
	}
	if after := groupsOf(t, "thread-self"); after != before {
		t.Errorf("the thread is in other groups now: %s", after)
	}
	return group, command
}

func groupsOf(t *testing.T, process string) string {
	t.Helper()
	return content(t, filepath.Join("/proc", process, "cgroup"))
}

func TestAProcessIsInItsGroupFromTheBeginning(t *testing.T) {
	node := realNode(t)
	group, command := begin(t, node, Limits{}, "sleep 60 & wait")
	for _, dir := range group.dirs() {
		if !strings.Contains(groupsOf(t, strconv.Itoa(command.Process.Pid)), filepath.Base(node.memory)+"/one") {
			t.Errorf("the process is not in %s", dir)
		}
	}
	// Its child is ended with it.
	if err := group.Remove(); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v", err)
	}
}

func TestTheKernelEndsWhatExceedsItsMemory(t *testing.T) {
	// Without a line, tail keeps all that it reads. If the group did not end it, ulimit would.
	group, command := begin(t, realNode(t), Limits{Memory: 32 << 20}, "ulimit -v 262144; exec tail /dev/zero")
	if err := command.Wait(); err == nil || err.Error() != "signal: killed" || !group.OOMKilled() {
		t.Errorf("OOMKilled %t, %v", group.OOMKilled(), err)
	}
}

func TestCPUTimeIsLimited(t *testing.T) {
	group, command := begin(t, realNode(t), Limits{CPU: 100}, "while :; do :; done")
	time.Sleep(time.Second)
	if err := group.Remove(); err != nil {
		t.Error(err)
	}
	_ = command.Wait()
	if used := command.ProcessState.UserTime() + command.ProcessState.SystemTime(); used > 300*time.Millisecond {
		t.Errorf("a tenth of a core was %s within a second", used)
	}
}

func TestTheNextAgentEndsWhatAnEarlierOneLeft(t *testing.T) {
	node := realNode(t)
	_, command := begin(t, node, Limits{}, "sleep 60")
	if _, err := Open(filepath.Base(node.memory)); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the process ended with %v", err)
	}
}
