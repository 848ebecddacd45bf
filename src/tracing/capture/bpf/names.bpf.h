/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names.bpf.h - the file of a descriptor, and its name, which is sent once. */
#pragma once

#include "tracing/capture/bpf/state.bpf.h"

#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFBLK 0060000
#define S_IFREG 0100000
#define AT_FDCWD (-100)

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/*
 * A typed pointer, for plain loads. Needs Linux 6.2; on older kernels a helper copies, which is
 * several times slower. Each caller passes a constant `is_typed`, so only one of the two is
 * compiled.
 */
#define TYPED(pointer, type) ((type *)bpf_rdonly_cast((pointer), bpf_core_type_id_kernel(type)))

/* Files whose names were sent. The oldest are evicted, and their names sent again. */
struct named_key {
	u64 ino;
	u32 dev, generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct named_key);
	__type(value, u32);
} named SEC(".maps");

/* The properties of a file that records need. */
struct file_seen {
	struct identity id;
	struct file *file;
	u64 position, size;
	u32 mode, flags;
};

/* The open file of a descriptor; NULL = none. */
static __always_inline struct file *file_at(u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = task->files->fdt;
	struct file *file = NULL;

	if (fd >= table->max_fds || bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd))
		return NULL;
	return file;
}

static __always_inline void see_inode(struct inode *i, struct file_seen *to)
{
	to->mode = BPF_CORE_READ(i, i_mode);
	to->id.ino = BPF_CORE_READ(i, i_ino);
	to->id.generation = BPF_CORE_READ(i, i_generation);
	to->id.dev = BPF_CORE_READ(i, i_sb, s_dev);
	to->size = BPF_CORE_READ(i, i_size);
}

/* False: not recorded (a socket, a pipe, a terminal). */
static __always_inline bool is_storage(u32 mode)
{
	mode &= S_IFMT;
	return mode == S_IFREG || mode == S_IFDIR || mode == S_IFBLK;
}

static __always_inline bool see_file(struct file *file, struct file_seen *to, bool is_typed)
{
	to->file = file;
	if (!file)
		return false;
	if (is_typed) {
		struct file *f = TYPED(file, struct file);
		struct inode *i = f->f_inode;

		to->position = f->f_pos;
		to->flags = f->f_flags;
		to->mode = i->i_mode;
		to->id.ino = i->i_ino;
		to->id.generation = i->i_generation;
		to->id.dev = i->i_sb->s_dev;
		to->size = i->i_size;
	} else {
		to->position = BPF_CORE_READ(file, f_pos);
		to->flags = BPF_CORE_READ(file, f_flags);
		see_inode(BPF_CORE_READ(file, f_inode), to);
	}
	return is_storage(to->mode);
}

/* ---- names ---- */

struct path_walk {
	struct dentry *dentry;
	struct mount *mount;
	/* The root of the program, which may be in a chroot: the path begins here. */
	struct dentry *root;
	struct vfsmount *root_mnt;
	struct capture_name *to;
};

/* Append one part of the path. False: no room. The length of the text is in the map. The verifier
 * therefore assumes any value, and treats all steps alike. */
static __always_inline bool add_part(struct path_walk *w, struct dentry *d)
{
	const unsigned char *name = BPF_CORE_READ(d, d_name.name);
	u32 at = w->to->text_bytes;
	long n = 256;

	/* The slack after the text has room for the last part. */
	if (at < EVENT_PATH_BYTES)
		n = bpf_probe_read_kernel_str(w->to->text + at, 256, name);
	if (n <= 0)
		return false;
	if (at + n > EVENT_PATH_BYTES) {
		w->to->more |= EVENT_IS_CUT;
		return false;
	}
	w->to->text_bytes = at + n;
	return true;
}

/* Append a part of the path, and go up. 1 = the root was reached. */
static long walk_up(u32 step, void *context)
{
	struct path_walk *w = context;
	struct dentry *d = w->dentry, *parent = BPF_CORE_READ(d, d_parent);
	struct mount *m = w->mount, *up;
	struct dentry *top = BPF_CORE_READ(m, mnt.mnt_root);

	(void)step;
	if (d == w->root && m && &m->mnt == w->root_mnt)
		return 1;
	if (d == top && m) {
		up = BPF_CORE_READ(m, mnt_parent);
		w->dentry = BPF_CORE_READ(m, mnt_mountpoint);
		w->mount = up;
		return up == m;
	}
	if (d == parent) { /* a file without a tree, such as a memfd */
		if (m)
			add_part(w, d);
		return 1;
	}
	w->dentry = parent;
	return !add_part(w, d);
}

#define WALK_MOST 512
/* Maximum steps before Linux 5.17, which introduced bpf_loop; the verifier would take too long for
 * more. */
#define WALK_OLD 12

static __always_inline void walk_all(struct path_walk *w)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		bpf_loop(WALK_MOST, walk_up, w, 0);
		return;
	}
	for (u32 i = 0; i < WALK_OLD; i++)
		if (walk_up(i, w))
			return;
	w->to->more |= EVENT_IS_CUT;
}

/*
 * Send the name of the file in the scratch buffer. 1 = sent. If the mount is not known (0), the
 * start of the path is missing. The function is not static and has no pointer arguments, so the
 * verifier checks it once and not at each call.
 */
__noinline int tell_name(void)
{
	struct scratch *buffer = scratch();
	struct file_seen f = { 0 };
	struct task_struct *task = (void *)bpf_get_current_task();
	struct path_walk w = { 0 };
	struct capture_name *n;
	struct dentry *leaf;
	struct inode *inode;
	u32 bytes;
	u64 mnt;

	if (!buffer)
		return 0;
	leaf = (void *)buffer->leaf;
	inode = (void *)buffer->inode;
	mnt = buffer->mnt;
	n = &buffer->name;
	see_inode(inode, &f);
	n->zero = 0;
	n->ino = f.id.ino;
	n->dev = f.id.dev;
	n->generation = f.id.generation;
	n->size_bytes = f.size;
	n->mode = f.mode;
	n->rdev = BPF_CORE_READ(inode, i_rdev);
	n->kind = EVENT_NAME;
	n->more = mnt ? 0 : EVENT_IS_CUT;
	n->spare = 0;
	n->text_bytes = 0;
	w.dentry = leaf;
	w.root = BPF_CORE_READ(task, fs, root.dentry);
	w.root_mnt = BPF_CORE_READ(task, fs, root.mnt);
	if (mnt)
		w.mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	w.to = n;
	/* A deleted file is neither in the tree of names nor a root. */
	if (!BPF_CORE_READ(leaf, d_hash.pprev) && BPF_CORE_READ(leaf, d_parent) != leaf)
		n->more |= EVENT_IS_DELETED;
	walk_all(&w);
	bytes = n->text_bytes;
	if (bytes > EVENT_PATH_BYTES)
		return 0;
	return ring_copy(n, offsetof(struct capture_name, text) + bytes, LOSS_NAMES);
}

/* Values of `named`. A name that a program opened replaces a guess. */
enum { NAME_SURE = 1, NAME_GUESSED };

/* Send the name of a file unless it was sent before. */
static __always_inline void need_name(struct identity *id, struct dentry *leaf,
				      struct vfsmount *mnt, struct inode *inode, u32 how)
{
	struct named_key key = { id->ino, id->dev, id->generation };
	u32 *known = bpf_map_lookup_elem(&named, &key);
	struct scratch *buffer;

	if (known && *known <= how)
		return;
	buffer = scratch();
	if (!buffer)
		return;
	buffer->leaf = (u64)leaf;
	buffer->mnt = (u64)mnt;
	buffer->inode = (u64)inode;
	/* Set only after the name was sent: other CPUs use the entry at once. */
	if (tell_name())
		bpf_map_update_elem(&named, &key, &how, BPF_ANY);
}

static __always_inline bool is_last_named(const struct thread_state *s, const struct identity *id)
{
	return s->named.ino == id->ino && s->named.dev == id->dev &&
	       s->named.generation == id->generation;
}

static __always_inline void need_name_of(struct identity *id, struct file *file)
{
	need_name(id, BPF_CORE_READ(file, f_path.dentry), BPF_CORE_READ(file, f_path.mnt),
		  BPF_CORE_READ(file, f_inode), NAME_SURE);
}

static __always_inline void need_file_name(struct thread_state *s, struct file_seen *f)
{
	if (is_last_named(s, &f->id))
		return;
	need_name_of(&f->id, f->file);
	s->named = f->id;
}

/* Return the mount if it belongs to this file system, otherwise NULL. */
static __always_inline struct vfsmount *mount_if(struct vfsmount *mnt, struct super_block *of)
{
	return BPF_CORE_READ(mnt, mnt_sb) == of ? mnt : NULL;
}

/* The mapping at an address of the program. */
struct mapping_seen {
	u64 address;
	u64 page; /* page in the file; TRACE_UNKNOWN = no mapping was found */
	struct file *file;
};

static long see_mapping(struct task_struct *task, struct vm_area_struct *vma,
			struct mapping_seen *to)
{
	to->page = vma->vm_pgoff + ((to->address - vma->vm_start) >> settings.page_shift);
	to->file = vma->vm_file;
	return 0;
}

/* Finds nothing before Linux 5.17, or while mappings change. */
static __always_inline void find_mapping(struct mapping_seen *to, u64 address)
{
	to->address = address;
	to->page = TRACE_UNKNOWN;
	to->file = NULL;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		bpf_find_vma(bpf_get_current_task_btf(), address, see_mapping, to, 0);
}

/* Guess the name of an inode: one of its names, below the mount of the program's executable, root
 * or working directory. */
static __always_inline void guess_name(struct file_seen *f, struct inode *inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
	struct super_block *of = BPF_CORE_READ(inode, i_sb);
	struct vfsmount *mnt;

	if (!alias)
		return;
	mnt = mount_if(BPF_CORE_READ(task, mm, exe_file, f_path.mnt), of);
	if (!mnt)
		mnt = mount_if(BPF_CORE_READ(task, fs, root.mnt), of);
	if (!mnt)
		mnt = mount_if(BPF_CORE_READ(task, fs, pwd.mnt), of);
	need_name(&f->id, (void *)alias - bpf_core_field_offset(struct dentry, d_u), mnt, inode,
		  NAME_GUESSED);
}

/* Send the name of an inode: for a page of a mapping, the kernel reports only the inode. */
static __noinline int need_inode_name(struct thread_state *s, struct inode *inode, u64 address)
{
	struct mapping_seen m;
	struct file_seen f = { 0 };
	struct named_key key = { 0 };
	struct file *file;

	if (!s || !inode)
		return 0;
	see_inode(inode, &f);
	if (is_last_named(s, &f.id))
		return 0;
	key.ino = f.id.ino;
	key.dev = f.id.dev;
	key.generation = f.id.generation;
	if (bpf_map_lookup_elem(&named, &key))
		return 0;
	find_mapping(&m, address);
	file = m.file;
	if (file && BPF_CORE_READ(file, f_inode) == inode)
		need_name_of(&f.id, file);
	else
		guess_name(&f, inode);
	return 0;
}

/* The start of a relative path: the directory of a descriptor, or the working directory. */
static __noinline int see_directory(int fd, struct identity *to)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_seen f = { 0 };
	struct vfsmount *mnt;
	struct dentry *leaf;
	struct inode *inode;

	if (!to)
		return 0;
	if (fd == AT_FDCWD) {
		leaf = BPF_CORE_READ(task, fs, pwd.dentry);
		mnt = BPF_CORE_READ(task, fs, pwd.mnt);
	} else {
		struct file *file = file_at(fd);

		if (!file)
			return 0;
		leaf = BPF_CORE_READ(file, f_path.dentry);
		mnt = BPF_CORE_READ(file, f_path.mnt);
	}
	inode = BPF_CORE_READ(leaf, d_inode);
	see_inode(inode, &f);
	*to = f.id;
	need_name(&f.id, leaf, mnt, inode, NAME_SURE);
	return 1;
}

/* ---- lists of buffers ---- */

#define IOVECS_MOST 64 /* for longer lists the length is unknown */

/* Sum of the lengths of a list in user memory. Not static, like tell_name(). */
__noinline u64 iovec_bytes(u64 list, u64 count)
{
	u64 one[2], sum = 0;

	if (count > IOVECS_MOST)
		return TRACE_UNKNOWN;
	for (u32 i = 0; i < IOVECS_MOST; i++) {
		if (i >= count)
			break;
		if (bpf_probe_read_user(one, sizeof(one), (void *)(list + i * sizeof(one))))
			return TRACE_UNKNOWN;
		sum += one[1];
	}
	return sum;
}
