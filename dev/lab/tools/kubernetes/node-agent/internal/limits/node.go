package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Node is the group of a node, with one group for each running container. The zero value has no groups: its
// containers run without limits.
type Node struct {
	unified bool
	// memory and cpu are the directories of the node's group, the same one if a hierarchy has both controllers.
	memory, cpu string
	// outside are the directories of the agent's own groups.
	outside []string
}

// Open makes the group of a node, after it has ended and removed all that an earlier agent has left under this
// name. The error says why this user cannot make groups on this machine.
func Open(name string) (*Node, error) {
	cgroups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	found, err := locate(string(cgroups), string(mountinfo))
	if err != nil {
		return nil, err
	}
	return open(found, name)
}

// open makes the group at the top of the hierarchies, as kubelets do.
func open(found hierarchies, name string) (*Node, error) {
	node := &Node{
		unified: found.unified,
		memory:  filepath.Join(found.memory.top, name),
		cpu:     filepath.Join(found.cpu.top, name),
		outside: distinct(found.memory.own, found.cpu.own),
	}
	if err := node.Close(); err != nil {
		return nil, err
	}
	if err := node.prepare(); err != nil {
		return nil, errors.Join(err, node.Close())
	}
	return node, nil
}

// prepare makes the group of the node, and one with limits on trial: a kernel may lack a controller's files.
func (n *Node) prepare() error {
	if n.unified {
		// The kernel refuses it where the top has processes, as in a container. The root may have some.
		if err := giveControllers(filepath.Dir(n.memory)); err != nil {
			return err
		}
	}
	if err := makeAll(n.dirs()); err != nil {
		return err
	}
	if n.unified {
		if err := giveControllers(n.memory); err != nil {
			return err
		}
	}
	trial, err := n.Group("trial", Limits{Memory: 1 << 30, CPU: 1000})
	if err != nil {
		return err
	}
	return trial.Remove()
}

// Group makes the group of a container. Its name has to differ from those of all containers that run.
func (n *Node) Group(name string, limits Limits) (*Group, error) {
	if n.memory == "" {
		return &Group{}, nil
	}
	group := &Group{node: n, memory: filepath.Join(n.memory, name), cpu: filepath.Join(n.cpu, name)}
	if err := makeAll(group.dirs()); err != nil {
		return nil, errors.Join(err, group.Remove())
	}
	if err := group.apply(limits); err != nil {
		return nil, errors.Join(fmt.Errorf("limits of the container: %w", err), group.Remove())
	}
	return group, nil
}

// Close removes the group of the node, and ends the containers that are left in it.
func (n *Node) Close() error {
	var groups []string
	for _, dir := range n.dirs() {
		// Without the directory, there is nothing to do.
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			if entry.IsDir() {
				groups = append(groups, filepath.Join(dir, entry.Name()))
			}
		}
		groups = append(groups, dir)
	}
	return removeGroups(groups)
}

func (n *Node) dirs() []string { return distinct(n.memory, n.cpu) }

// distinct leaves out what is empty, and the second of two that are the same.
func distinct(dirs ...string) []string {
	return slices.Compact(slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" }))
}

func makeAll(dirs []string) error {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, directoryMode); err != nil {
			return err
		}
	}
	return nil
}
