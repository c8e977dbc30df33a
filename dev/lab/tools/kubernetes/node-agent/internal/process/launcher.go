// Package process runs host processes that never outlive the agent.
package process

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
)

// Command is a program to run. Its environment is Env and nothing else.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string
	// Output receives what the program writes to its standard output and error.
	Output *os.File
	// Group is the name of the control group that the process gets, with these limits.
	Group  string
	Limits limits.Limits
}

// Launcher starts processes that the kernel kills when the agent dies, however it dies.
type Launcher struct {
	starts chan func()
	groups *limits.Node
	log    *slog.Logger
}

// NewLauncher starts a launcher that makes a control group for each process. It lasts until the agent exits: the
// kernel sends the parent-death signal when the thread that forked ends, not the program, so one locked thread forks
// every process and never ends.
// https://github.com/golang/go/issues/27505
func NewLauncher(groups *limits.Node, log *slog.Logger) *Launcher {
	launcher := &Launcher{starts: make(chan func()), groups: groups, log: log}
	go func() {
		runtime.LockOSThread()
		for start := range launcher.starts {
			start()
		}
	}()
	return launcher
}

// Start runs command in a process group of its own.
func (l *Launcher) Start(command Command) (*Process, error) {
	cmd := &exec.Cmd{
		Path:        command.Path,
		Args:        append([]string{command.Path}, command.Args...),
		Env:         command.Env,
		Dir:         command.Dir,
		Stdout:      command.Output,
		Stderr:      command.Output,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	group, err := l.groups.Group(command.Group, command.Limits)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	started := make(chan error)
	l.starts <- func() { started <- group.Start(cmd) }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, errors.Join(err, group.Remove()))
	}
	process := &Process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		if err := process.reap(cmd, group); err != nil {
			l.log.Error("a container left its control group behind", "group", command.Group, "error", err)
		}
	}()
	return process, nil
}
