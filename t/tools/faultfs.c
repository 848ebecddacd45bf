/* SPDX-License-Identifier: Apache-2.0 */
/* faultfs.c - a filesystem that shows a folder and does to it what storage does on bad days. */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/*
 *	faultfs FOLDER MOUNTPOINT [-o OPTION[,OPTION]...] [-f]
 *
 *	match=TEXT	faults are for files with TEXT in their names; all
 *	read_eio=OFFSET	a read of that byte fails with EIO
 *	write_eio=OFFSET  a write of it does
 *	fsync_eio	fsync fails with EIO
 *	short_read=BYTES  a read gets no more than so many
 *	full=BYTES	after so many written, to all files, ENOSPC
 *	delay=MS	every read is so much later
 *	hang		reads and writes do not come back before a file named
 *			`go` is in FOLDER
 *
 * Files are opened with direct_io, so that every read and write of a program
 * arrives here as it is, whatever the page cache holds.
 */
struct faults {
	char *match;
	long long read_eio, write_eio, short_read, full;
	unsigned delay_ms;
	int fsync_eio, hang;
	/* Not options. */
	int root; /* the folder */
	_Atomic long long written;
};

#define OPTION(text, member)                                                                       \
	{                                                                                          \
		text, offsetof(struct faults, member), 1                                           \
	}

static const struct fuse_opt options[] = {
	OPTION("match=%s", match),
	OPTION("read_eio=%lli", read_eio),
	OPTION("write_eio=%lli", write_eio),
	OPTION("short_read=%lli", short_read),
	OPTION("full=%lli", full),
	OPTION("delay=%u", delay_ms),
	OPTION("fsync_eio", fsync_eio),
	OPTION("hang", hang),
	FUSE_OPT_END,
};

static struct faults *faults(void)
{
	return fuse_get_context()->private_data;
}

static bool is_meant(const char *path)
{
	const struct faults *f = faults();

	return !f->match || strstr(path, f->match);
}

static bool holds(long long byte, size_t size, off_t off)
{
	return byte >= 0 && byte >= off && byte < off + (long long)size;
}

/* A path below the folder. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int status(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* Others see by a file that somebody waits. */
static void wait_to_go(void)
{
	int root = faults()->root;
	int fd = openat(root, ".waiting", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	while (faccessat(root, "go", F_OK, 0) != 0)
		usleep(10000);
	unlinkat(root, ".waiting", 0);
}

static void *fs_init(struct fuse_conn_info *conn, struct fuse_config *cfg)
{
	(void)conn;
	cfg->direct_io = 1;
	/* Nothing is kept: what tests do to the folder is seen at once. */
	cfg->entry_timeout = cfg->attr_timeout = cfg->negative_timeout = 0;
	return fuse_get_context()->private_data;
}

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	(void)fi;
	return status(fstatat(faults()->root, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int fs_mkdir(const char *path, mode_t mode)
{
	return status(mkdirat(faults()->root, below(path), mode));
}

static int fs_unlink(const char *path)
{
	return status(unlinkat(faults()->root, below(path), 0));
}

static int fs_rmdir(const char *path)
{
	return status(unlinkat(faults()->root, below(path), AT_REMOVEDIR));
}

static int fs_rename(const char *from, const char *to, unsigned flags)
{
	return flags ? -EINVAL
		     : status(renameat(faults()->root, below(from), faults()->root, below(to)));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	int fd = openat(faults()->root, below(path), O_WRONLY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : status(ftruncate(fd, size));

	(void)fi;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int fd = openat(faults()->root, below(path), (fi->flags & ~O_DIRECT) | O_CREAT | O_CLOEXEC,
			mode);

	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	return 0;
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
	fi->flags &= ~O_CREAT;
	return fs_create(path, 0, fi);
}

static int fs_read(const char *path, char *buf, size_t size, off_t off, struct fuse_file_info *fi)
{
	const struct faults *f = faults();
	ssize_t got;

	if (is_meant(path)) {
		if (f->hang)
			wait_to_go();
		usleep(f->delay_ms * 1000);
		if (holds(f->read_eio, size, off))
			return -EIO;
		if (f->short_read > 0 && size > (size_t)f->short_read)
			size = (size_t)f->short_read;
	}
	got = pread((int)fi->fh, buf, size, off);
	return got < 0 ? -errno : (int)got;
}

static int fs_write(const char *path, const char *buf, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct faults *f = faults();
	ssize_t put;

	if (is_meant(path) && f->hang)
		wait_to_go();
	if (is_meant(path) && holds(f->write_eio, size, off))
		return -EIO;
	if (f->full >= 0 &&
	    atomic_fetch_add(&f->written, (long long)size) + (long long)size > f->full)
		return -ENOSPC;
	put = pwrite((int)fi->fh, buf, size, off);
	return put < 0 ? -errno : (int)put;
}

static int fs_fsync(const char *path, int datasync, struct fuse_file_info *fi)
{
	(void)datasync;
	if (is_meant(path) && faults()->fsync_eio)
		return -EIO;
	return status(fsync((int)fi->fh));
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	close((int)fi->fh);
	return 0;
}

static int fs_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
		      struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(faults()->root, below(path), O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	(void)off, (void)fi, (void)flags;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		fill(buf, entry->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

static int fs_statfs(const char *path, struct statvfs *st)
{
	(void)path;
	return status(fstatvfs(faults()->root, st));
}

static const struct fuse_operations operations = {
	.init = fs_init,
	.getattr = fs_getattr,
	.mkdir = fs_mkdir,
	.unlink = fs_unlink,
	.rmdir = fs_rmdir,
	.rename = fs_rename,
	.truncate = fs_truncate,
	.open = fs_open,
	.create = fs_create,
	.read = fs_read,
	.write = fs_write,
	.fsync = fs_fsync,
	.release = fs_release,
	.readdir = fs_readdir,
	.statfs = fs_statfs,
};

/* The first argument is the folder; the rest is for the library. */
int main(int argc, char **argv)
{
	struct faults f = { .read_eio = -1, .write_eio = -1, .full = -1 };
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);

	f.root = argc > 2 ? open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (f.root < 0) {
		fputs("faultfs FOLDER MOUNTPOINT [-o OPTION,...] [-f]\n", stderr);
		return 2;
	}
	for (int i = 0; i < argc; i++)
		if (i != 1)
			fuse_opt_add_arg(&args, argv[i]);
	if (fuse_opt_parse(&args, &f, options, NULL) != 0)
		return 2;
	return fuse_main(args.argc, args.argv, &operations, &f);
}
