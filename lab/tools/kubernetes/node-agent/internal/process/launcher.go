// Package process runs host processes that never outlive the agent.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Command is a program to run. Its environment is Env and nothing else.
type Command struct {
	Path string
	Args []string
	Env  []string
	Dir  string
	// Output receives what the program writes to its standard output and error.
	Output *os.File
}

// Launcher starts processes that the kernel kills when the agent dies, however it dies.
type Launcher struct {
	starts chan func()
}

// NewLauncher starts a launcher. It lasts until the agent exits: the kernel sends the parent-death signal
// when the thread that forked ends, not the program, so one locked thread forks every process and never ends.
// https://github.com/golang/go/issues/27505
func NewLauncher() *Launcher {
	launcher := &Launcher{starts: make(chan func())}
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
	started := make(chan error)
	l.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	process := &Process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go process.reap(cmd)
	return process, nil
}
