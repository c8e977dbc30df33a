package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Node is the group of a node, with one group for each running container. The zero value has no groups: its
// containers run without limits.
type Node struct {
	unified bool
	// memory and cpu are the directories of the node's group, the same one if a hierarchy has both controllers.
	memory, cpu string
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

func open(found hierarchies, name string) (*Node, error) {
	for _, hierarchy := range []place{found.memory, found.cpu} {
		if err := removeAll(hierarchy.mount, name); err != nil {
			return nil, err
		}
	}
	memory, cpu, err := found.parents()
	if err != nil {
		return nil, err
	}
	node := &Node{unified: found.unified, memory: filepath.Join(memory, name), cpu: filepath.Join(cpu, name)}
	if err := node.prepare(); err != nil {
		return nil, errors.Join(err, node.Close())
	}
	return node, nil
}

// prepare makes the group of the node, and one with limits on trial: a kernel may lack a controller's files.
func (n *Node) prepare() error {
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
	var err error
	for _, dir := range n.dirs() {
		err = errors.Join(err, removeAll(dir, filepath.Base(dir)))
	}
	return err
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

// removeAll removes all groups with this name, wherever an earlier agent was started, with the groups in them.
func removeAll(mount, name string) error {
	var found []string
	err := filepath.WalkDir(mount, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			// A group that has gone meanwhile, or that is closed to this user.
			return fs.SkipDir
		}
		if entry.IsDir() && slices.Contains(strings.Split(path, string(filepath.Separator)), name) {
			found = append(found, path)
		}
		return nil
	})
	// What is in a group goes before it.
	slices.Reverse(found)
	return errors.Join(err, removeGroups(found))
}
