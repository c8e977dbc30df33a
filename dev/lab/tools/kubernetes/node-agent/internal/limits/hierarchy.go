package limits

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	memoryController, cpuController = "memory", "cpu"
	// subtreeControl has the controllers of a group's children, in version 2.
	subtreeControl = "cgroup.subtree_control"
)

// place is where this process is in a mounted hierarchy.
type place struct {
	// top is the directory of the topmost group that is visible, own that of this process.
	top, own string
}

// hierarchies are the places of this process that have the two controllers: one of version 2, or two of version 1,
// which may be mounted together.
// https://docs.kernel.org/admin-guide/cgroup-v2.html
// https://docs.kernel.org/admin-guide/cgroup-v1/cgroups.html
type hierarchies struct {
	unified     bool
	memory, cpu place
}

// locate finds the hierarchies by the content of /proc/self/cgroup and /proc/self/mountinfo.
func locate(cgroups, mountinfo string) (hierarchies, error) {
	memory, cpu := find(memoryController, cgroups, mountinfo), find(cpuController, cgroups, mountinfo)
	if memory != nil && cpu != nil {
		return hierarchies{memory: *memory, cpu: *cpu}, nil
	}
	if unified := find("", cgroups, mountinfo); unified != nil {
		return hierarchies{unified: true, memory: *unified, cpu: *unified}, nil
	}
	return hierarchies{}, errors.New("no cgroup hierarchy with memory and CPU is mounted")
}

// find returns the place of this process in the hierarchy of a controller of version 1, or, without a name, in that
// of version 2; nil if it is not mounted.
func find(controller, cgroups, mountinfo string) *place {
	path, ok := pathOf(controller, cgroups)
	if !ok {
		return nil
	}
	for line := range strings.Lines(mountinfo) {
		// See proc_pid_mountinfo(5): the fields behind the hyphen are the type, the source and the options.
		before, after, _ := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if len(head) < 5 || len(tail) < 3 || !isHierarchy(controller, tail[0], tail[2]) {
			continue
		}
		root, mount := head[3], head[4]
		relative, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(relative) {
			// A group that this mount does not show.
			continue
		}
		return &place{top: mount, own: filepath.Join(mount, relative)}
	}
	return nil
}

// pathOf returns the path of this process in the hierarchy of a controller.
func pathOf(controller, cgroups string) (string, bool) {
	for line := range strings.Lines(cgroups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) == 3 && slices.Contains(strings.Split(fields[1], ","), controller) {
			return fields[2], true
		}
	}
	return "", false
}

func isHierarchy(controller, filesystem, options string) bool {
	if controller == "" {
		return filesystem == "cgroup2"
	}
	return filesystem == "cgroup" && slices.Contains(strings.Split(options, ","), controller)
}

// giveControllers has the children of a group of version 2 get the controllers, if they do not yet.
func giveControllers(dir string) error {
	return write(filepath.Join(dir, subtreeControl), fmt.Sprintf("+%s +%s", memoryController, cpuController))
}

// write writes to a file of a group, which exists if the kernel has it.
func write(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}
