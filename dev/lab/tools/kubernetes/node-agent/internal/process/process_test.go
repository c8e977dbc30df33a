package process

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
)

// asAgent makes the test binary play an agent: it launches a sleeper, prints its number and waits to be
// killed.
const asAgent = "NODE_AGENT_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) == "" {
		os.Exit(m.Run())
	}
	sleeper, err := launcher(&limits.Node{}).Start(Command{Path: "/bin/sleep", Args: []string{"60"}})
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(strconv.Itoa(sleeper.PID()) + "\n")
	time.Sleep(time.Minute)
}

func launcher(groups *limits.Node) *Launcher {
	return NewLauncher(groups, slog.New(slog.DiscardHandler))
}

func start(t *testing.T, script string) (*Process, string) {
	t.Helper()
	return startIn(t, &limits.Node{}, script, limits.Limits{})
}

// startIn starts a script in a control group of its own.
func startIn(t *testing.T, groups *limits.Node, script string, allowed limits.Limits) (*Process, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	output, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	process, err := launcher(groups).Start(Command{
		Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"A=b"}, Output: output,
		Group: t.Name(), Limits: allowed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return process, path
}

// realGroups are those of this machine, if this user may make some.
func realGroups(t *testing.T) *limits.Node {
	t.Helper()
	groups, err := limits.Open("flux-tenancy-processes-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Skipf("no control groups: %v", err)
	}
	t.Cleanup(func() {
		if err := groups.Close(); err != nil {
			t.Error(err)
		}
	})
	return groups
}

func TestExitCode(t *testing.T) {
	cases := map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137, "kill -15 $$": 143}
	for script, want := range cases {
		process, _ := start(t, script)
		<-process.Done()
		if got := process.ExitCode(); got != want {
			t.Errorf("%q ended with %d, want %d", script, got, want)
		}
	}
}

func TestOutputAndEnvironment(t *testing.T) {
	process, path := start(t, `echo "A=$A HOME=$HOME"; echo oops >&2`)
	<-process.Done()
	if got, _ := os.ReadFile(path); string(got) != "A=b HOME=\noops\n" {
		t.Fatalf("the log holds %q", got)
	}
}

func TestStopIsPatientThenKillsTheGroup(t *testing.T) {
	process, path := start(t, `trap "" TERM; sleep 60 & echo $!; wait; wait`)
	child := waitForLine(t, path)
	patience, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	process.Stop(patience)
	if lived := time.Since(begin); lived < 200*time.Millisecond {
		t.Errorf("killed after %s, before patience was over", lived)
	}
	if code := process.ExitCode(); code != 137 {
		t.Errorf("ended with %d, want 137", code)
	}
	waitUntilGone(t, child)
}

func TestProcessesDieWithTheAgent(t *testing.T) {
	agent := exec.Command(os.Args[0])
	agent.Env = append(os.Environ(), asAgent+"=1")
	stdout, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	sleeper, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(sleeper, 0); err != nil {
		t.Fatalf("the sleeper does not run: %v", err)
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	waitUntilGone(t, sleeper)
}

func TestStartReportsWhatCannotRun(t *testing.T) {
	_, err := launcher(&limits.Node{}).Start(Command{Path: "/does/not/exist"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestAProcessWithoutMemoryLeftIsKilledByTheKernel(t *testing.T) {
	// Without a line, tail keeps all that it reads. If the group did not end it, ulimit would.
	greedy := "ulimit -v 262144; exec tail /dev/zero"
	process, _ := startIn(t, realGroups(t), greedy, limits.Limits{Memory: 32 << 20})
	<-process.Done()
	if !process.OOMKilled() || process.ExitCode() != 137 {
		t.Errorf("OOMKilled %t, exit code %d", process.OOMKilled(), process.ExitCode())
	}
}

func TestAProcessThatIsKilledOtherwiseHadMemoryLeft(t *testing.T) {
	process, _ := startIn(t, realGroups(t), "kill -9 $$", limits.Limits{Memory: 32 << 20})
	<-process.Done()
	if process.OOMKilled() || process.ExitCode() != 137 {
		t.Errorf("OOMKilled %t, exit code %d", process.OOMKilled(), process.ExitCode())
	}
}

func TestNothingIsLeftOfAContainerThatEnds(t *testing.T) {
	// With a process group of its own, a signal to that of the container does not reach it.
	process, path := startIn(t, realGroups(t), "setsid sleep 60 & echo $!; sleep 0.2", limits.Limits{})
	child := waitForLine(t, path)
	<-process.Done()
	waitUntilGone(t, child)
}

func waitForLine(t *testing.T, path string) int {
	t.Helper()
	for range 100 {
		content, _ := os.ReadFile(path)
		if number, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			return number
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the script printed no process number")
	return 0
}

// waitUntilGone waits until pid has ended. A zombie has: nobody may be there to reap it in a bare container.
func waitUntilGone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("process %d still runs", pid)
}
