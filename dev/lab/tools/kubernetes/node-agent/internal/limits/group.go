package limits

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// removalTimeout is how long processes may take to end that are killed, removalInterval how soon that is looked at
	// again.
	removalTimeout, removalInterval = 5 * time.Second, 5 * time.Millisecond
	// directoryMode is that of the kernel's own groups.
	directoryMode = 0o755
)

// Group is the group of a container. The zero value has no limits, and what is started in it stays where it is.
type Group struct {
	node        *Node
	memory, cpu string
}

// Start starts command in the group, where its threads and children will be as well. It is to be called on a locked
// thread.
func (g *Group) Start(command *exec.Cmd) error {
	switch {
	case g.node == nil:
		return command.Start()
	case g.node.unified:
		return g.startUnified(command)
	default:
		return g.startByThread(command)
	}
}

// startUnified has the kernel make the process in the group.
func (g *Group) startUnified(command *exec.Cmd) error {
	dir, err := os.Open(g.memory)
	if err != nil {
		return err
	}
	defer dir.Close()
	command.SysProcAttr.UseCgroupFD, command.SysProcAttr.CgroupFD = true, int(dir.Fd())
	return command.Start()
}

// startByThread puts this thread into the group while it starts the process: in version 1 threads have groups of
// their own, and a process begins in that of the thread that starts it.
func (g *Group) startByThread(command *exec.Cmd) error {
	err := enter(g.dirs())
	if err == nil {
		err = command.Start()
	}
	return errors.Join(err, enter(g.node.outside))
}

// enter puts this thread into groups of version 1.
func enter(dirs []string) error {
	for _, dir := range dirs {
		// The kernel takes 0 for the thread that writes.
		if err := write(filepath.Join(dir, "tasks"), "0"); err != nil {
			return err
		}
	}
	return nil
}

// OOMKilled says whether the kernel killed a process of the group because the group had no memory left.
func (g *Group) OOMKilled() bool {
	if g.node == nil {
		return false
	}
	file := "memory.oom_control"
	if g.node.unified {
		file = "memory.events"
	}
	content, _ := os.ReadFile(filepath.Join(g.memory, file))
	for line := range strings.Lines(string(content)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			return strings.TrimSpace(count) != "0"
		}
	}
	return false
}

// Remove ends what is left in the group, and removes it.
func (g *Group) Remove() error { return removeGroups(g.dirs()) }

func (g *Group) dirs() []string { return distinct(g.memory, g.cpu) }

// apply writes the limits.
func (g *Group) apply(limits Limits) error {
	for _, setting := range g.settings(limits) {
		err := write(setting.path, setting.value)
		if err != nil && !(setting.optional && errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// setting is what a file of a group is to have.
type setting struct {
	path, value string
	// optional is a file that not every kernel has.
	optional bool
}

// settings returns what a kubelet has its runtime write.
func (g *Group) settings(limits Limits) []setting {
	var settings []setting
	set := func(dir, file, value string, optional bool) {
		settings = append(settings, setting{filepath.Join(dir, file), value, optional})
	}
	if g.node.unified {
		// All processes of a container are killed together.
		set(g.memory, "memory.oom.group", "1", true)
	}
	// A container has no swap: its memory would be larger than its limit.
	switch {
	case limits.Memory == 0:
	case g.node.unified:
		set(g.memory, "memory.max", limits.memory(), false)
		set(g.memory, "memory.swap.max", "0", true)
	default:
		set(g.memory, "memory.limit_in_bytes", limits.memory(), false)
		set(g.memory, "memory.memsw.limit_in_bytes", limits.memory(), true)
	}
	switch {
	case limits.CPU == 0:
	case g.node.unified:
		set(g.cpu, "cpu.max", fmt.Sprintf("%s %d", limits.quota(), periodMicroseconds), false)
	default:
		set(g.cpu, "cpu.cfs_period_us", strconv.Itoa(periodMicroseconds), false)
		set(g.cpu, "cpu.cfs_quota_us", limits.quota(), false)
	}
	return settings
}

// removeGroups removes groups, up to the first that cannot be removed: its reason is that of the others as well.
func removeGroups(dirs []string) error {
	for _, dir := range dirs {
		if err := remove(dir); err != nil {
			return err
		}
	}
	return nil
}

// remove ends the processes in a group and removes it. A group that is gone already is what the caller wants.
func remove(dir string) error {
	for deadline := time.Now().Add(removalTimeout); ; time.Sleep(removalInterval) {
		kill(dir)
		err := syscall.Rmdir(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			return &os.PathError{Op: "rmdir", Path: dir, Err: err}
		}
	}
}

// kill ends the processes in a group. In version 1 this one is listed there as well while its thread starts a process.
func kill(dir string) {
	content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for _, field := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
