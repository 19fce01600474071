// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// root is a root directory that is being made: a file system in memory, onto which is
// mounted what is to be there. Until it is entered it lies on /proc, from where nothing
// is taken.
type root struct {
	fd   int
	bare []int           // file systems in memory: it, and what hides something
	own  map[uint64]bool // their devices
}

// newRoot is an empty one. Mounts in this namespace are nobody else's any more.
func newRoot() (*root, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("/: %w", err)
	}
	r := &root{own: map[uint64]bool{}}
	var err error
	if r.fd, err = r.empty(); err == nil {
		err = unix.MoveMount(r.fd, "", unix.AT_FDCWD, "/proc", unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("a new root: %w", err)
	}
	return r, nil
}

func (r *root) close() {
	for _, fd := range r.bare {
		_ = unix.Close(fd)
	}
}

// empty is a file system in memory. It holds directories and links only.
func (r *root) empty() (int, error) {
	fd, err := unmounted("tmpfs", 0, [2]string{"size", "4m"}, [2]string{"mode", "0755"})
	if err != nil {
		return -1, err
	}
	r.bare = append(r.bare, fd)
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	r.own[stat.Dev] = true
	return fd, err
}

// unmounted is a new file system.
func unmounted(kind string, attributes int, options ...[2]string) (int, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	defer func() { _ = unix.Close(context) }()
	for _, o := range options {
		err = errors.Join(err, unix.FsconfigSetString(context, o[0], o[1]))
	}
	if err == nil {
		err = unix.FsconfigCreate(context)
	}
	fd := -1
	if err == nil {
		fd, err = unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	if err != nil {
		return -1, fmt.Errorf("%s: %w", kind, err)
	}
	return fd, nil
}

// furnish puts in what is to be there, and dir, where there may be nothing in it.
func (r *root) furnish(p *Policy, dir string) error {
	for _, one := range p.view(exists) {
		if err := r.place(one); err != nil && !isGone(err) {
			return fmt.Errorf("%s: %w", one.path, err)
		}
	}
	// This process is the first of its pid namespace: there are no others in there.
	processes, err := unmounted("proc", unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return fmt.Errorf("%w (a container that hides parts of its own /proc forbids it)", err)
	}
	defer func() { _ = unix.Close(processes) }()
	if err := r.put(processes, "/proc", true); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	for _, rule := range p.Rules {
		for _, l := range links(rule.Named, target) {
			if err := r.link(l); err != nil {
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
	}
	fd, err := r.open(dir, true)
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return unix.Close(fd)
}

func exists(at string) bool {
	_, err := os.Lstat(at)
	return err == nil
}

// target is where a symbolic link leads.
func target(at string) string {
	to, err := os.Readlink(at)
	if err != nil {
		return ""
	}
	return to
}

// isGone: somebody has taken it away since, put a link there, or does not let this
// user look at it. A rule that leads nowhere allows nothing.
func isGone(err error) bool {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// place puts one thing in.
func (r *root) place(one place) error {
	var stat unix.Stat_t
	source, err := unix.Openat2(unix.AT_FDCWD, one.path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(source) }()
	if err := unix.Fstat(source, &stat); err != nil {
		return err
	}
	directory := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	if one.kind == hidden {
		if !directory {
			return nil // nobody connects to it, and to open it takes a rule
		}
		fd, err := r.empty()
		if err != nil {
			return err
		}
		return r.put(fd, one.path, true)
	}
	const all = unix.AT_EMPTY_PATH | unix.AT_RECURSIVE // the kernel takes what is mounted in there only together with it
	tree, err := unix.OpenTree(source, "", all|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(tree) }()
	attributes := uint64(unix.MOUNT_ATTR_NOSUID)
	if one.kind != device {
		attributes |= unix.MOUNT_ATTR_NODEV
	}
	if one.kind == readOnly {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(tree, "", all, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return err
	}
	return r.put(tree, one.path, directory)
}

// put mounts what is not mounted yet.
func (r *root) put(fd int, at string, directory bool) error {
	to, err := r.open(at, directory)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(to) }()
	return unix.MoveMount(fd, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// open opens a path of the new root. What is not there yet is made, but in its own file
// systems only.
func (r *root) open(at string, directory bool) (int, error) {
	fd, err := unix.Dup(r.fd)
	if err != nil {
		return -1, err
	}
	names := strings.FieldsFunc(at, func(r rune) bool { return r == '/' })
	for i, name := range names {
		next, err := r.step(fd, name, directory || i < len(names)-1)
		_ = unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// step opens a name in a directory. No link is followed: it could be of a plugin's making.
func (r *root) step(dir int, name string, directory bool) (int, error) {
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(dir, name, how)
	if !errors.Is(err, unix.ENOENT) || !r.owns(dir) {
		return fd, err
	}
	if directory {
		err = unix.Mkdirat(dir, name, 0o755)
	} else {
		err = unix.Mknodat(dir, name, unix.S_IFREG|0o444, 0)
	}
	if err != nil {
		return -1, err
	}
	return unix.Openat2(dir, name, how)
}

func (r *root) owns(fd int) bool {
	var stat unix.Stat_t
	return unix.Fstat(fd, &stat) == nil && r.own[stat.Dev]
}

// link puts a symbolic link in, unless there is something.
func (r *root) link(l link) error {
	dir, err := r.open(path.Dir(l.path), true)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	if !r.owns(dir) {
		return nil // it came with what is mounted there
	}
	if err := unix.Symlinkat(l.target, dir, path.Base(l.path)); !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// enter makes it the root directory of all who are in this namespace, lets go of the
// old one, and lets nobody put anything in any more.
func (r *root) enter() error {
	if err := unix.Fchdir(r.fd); err != nil {
		return err
	}
	// The new root lies on the old one then, or the other way round.
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	for _, fd := range r.bare {
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	return nil
}
