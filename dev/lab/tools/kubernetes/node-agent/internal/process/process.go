package process

import (
	"context"
	"os/exec"
	"syscall"

	"flux-tenancy.local/lab/tools/kubernetes/node-agent/internal/limits"
)

// signalled is what runtimes add to the number of the signal that ended a process to make its exit code.
const signalled = 128

// Process is a running process and the group of processes that it started.
type Process struct {
	pid       int
	done      chan struct{}
	exit      int
	oomKilled bool
}

// PID is the number of the process and of its group.
func (p *Process) PID() int { return p.pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode returns the exit code, 128+n for a process that signal n ended. It may be called once Done is
// closed.
func (p *Process) ExitCode() int { return p.exit }

// OOMKilled says whether the kernel killed it, or a process that it started, because the group of both had no memory
// left. It may be called once Done is closed.
func (p *Process) OOMKilled() bool { return p.oomKilled }

// Stop asks the whole group to end, kills it when patience is over, and returns when the process has ended.
func (p *Process) Stop(patience context.Context) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-patience.Done():
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// reap waits for the end of the process and takes what is left of its groups with it.
func (p *Process) reap(cmd *exec.Cmd, group *limits.Group) error {
	// The error only repeats the state that is read below.
	_ = cmd.Wait()
	p.signal(syscall.SIGKILL)
	p.exit, p.oomKilled = exitCode(cmd.ProcessState.Sys().(syscall.WaitStatus)), group.OOMKilled()
	err := group.Remove()
	close(p.done)
	return err
}

// signal sends to the group. A group that is gone already is what the sender wants.
func (p *Process) signal(signal syscall.Signal) {
	_ = syscall.Kill(-p.pid, signal)
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return signalled + int(status.Signal())
	}
	return status.ExitStatus()
}
