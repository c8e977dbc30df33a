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

// place is a group in a mounted hierarchy.
type place struct {
	// mount is the directory of the hierarchy's topmost visible group, dir that of the group.
	mount, dir string
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
		return &place{mount: mount, dir: filepath.Join(mount, relative)}
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

// parents returns the directories in which the node's group is made: the group of this process, so that what limits
// this process limits the node as well. In version 2, groups with processes of their own give their children no
// controllers: there it is the nearest one above that does. In the root, which may have processes, they are turned on.
func (h hierarchies) parents() (memory, cpu string, err error) {
	if !h.unified {
		return h.memory.dir, h.cpu.dir, nil
	}
	dir := h.memory.dir
	for ; dir != h.memory.mount; dir = filepath.Dir(dir) {
		if givesControllers(dir) {
			return dir, dir, nil
		}
	}
	return dir, dir, giveControllers(dir)
}

func givesControllers(dir string) bool {
	content, _ := os.ReadFile(filepath.Join(dir, subtreeControl))
	given := strings.Fields(string(content))
	return slices.Contains(given, memoryController) && slices.Contains(given, cpuController)
}

// giveControllers has the children of a group get the controllers, if they do not yet.
func giveControllers(dir string) error {
	if givesControllers(dir) {
		return nil
	}
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
