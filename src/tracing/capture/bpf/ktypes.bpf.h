/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ktypes.bpf.h - the members of kernel structures that the programs read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Only the names and kinds of members matter. libbpf replaces the offsets by those of the running
 * kernel (BTF) when it loads the programs, so the build needs no kernel headers. */
typedef unsigned char __u8, u8;
typedef unsigned short __u16, u16, __be16;
typedef unsigned int __u32, u32, __be32, __wsum;
typedef unsigned long long __u64, u64;
typedef short __s16, s16;
typedef int __s32, s32;
typedef long long __s64, s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, r9, ax, orig_ax;
};
struct thread_info {
	u32 status;
};
#else
struct user_pt_regs {
	u64 regs[31];
};
struct pt_regs {
	struct user_pt_regs user_regs;
	u64 orig_x0;
};
struct thread_info {
	unsigned long flags;
};
#endif

typedef struct {
	int counter;
} atomic_t;

struct super_block {
	u32 s_dev;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct inode {
	u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_rdev;
	s64 i_size;
	u32 i_generation;
	struct hlist_head i_dentry;
};

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct hlist_node d_u; /* d_alias is the first member */
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	u32 f_flags;
	struct path f_path;
	s64 f_pos;
};

struct fdtable {
	u32 max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root, pwd;
};

struct signal_struct {
	atomic_t live;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct file *exe_file;
};

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	int exit_code;
	struct task_struct *real_parent, *group_leader;
	u64 start_time;
	char comm[16];
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct signal_struct *signal;
};

struct vm_area_struct {
	unsigned long vm_start, vm_pgoff;
	struct file *vm_file;
};

struct linux_binprm {
	struct file *file;
};

struct address_space {
	struct inode *host;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned long _flags_1;
};

struct gendisk {
	int major, first_minor;
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 __data_len;
	u64 __sector;
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
};

struct io_cqe {
	u64 user_data;
	s32 res;
	int fd;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
};

struct kiocb {
	s64 ki_pos;
};

/* The start of struct io_kiocb for a read or write. */
struct io_rw {
	struct kiocb kiocb;
	u64 addr;
	u32 len;
};

struct bpf_iter_meta {
	u64 session_id;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* The programs ask libbpf whether the kernel has these constants, and for their values. */
enum req_flag_bits { __REQ_RAHEAD = 19 };
enum bpf_func_id { BPF_FUNC_find_vma = 180, BPF_FUNC_loop = 181 };
enum pageflags { PG_head = 6 };

/* Values of <linux/bpf.h>. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
	BPF_ANY = 0,
};
