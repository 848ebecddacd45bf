/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_calls.c - see bpf_calls.h. */
#include "tracing/capture/bpf/bpf_calls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/util.h"

static const struct {
	unsigned number;
	enum capture_call call;
} numbers[] = {
	{ SYS_read, CALL_READ },
	{ SYS_write, CALL_WRITE },
	{ SYS_pread64, CALL_PREAD },
	{ SYS_pwrite64, CALL_PWRITE },
	{ SYS_readv, CALL_READV },
	{ SYS_writev, CALL_WRITEV },
	{ SYS_preadv, CALL_PREADV },
	{ SYS_pwritev, CALL_PWRITEV },
	{ SYS_preadv2, CALL_PREADV2 },
	{ SYS_pwritev2, CALL_PWRITEV2 },
	{ SYS_close, CALL_CLOSE },
	{ SYS_dup3, CALL_DUP2 },
	{ SYS_openat, CALL_OPENAT },
#ifdef SYS_openat2
	{ SYS_openat2, CALL_OPENAT2 },
#endif
	{ SYS_fstat, CALL_FSTAT },
	{ SYS_newfstatat, CALL_NEWFSTATAT },
	{ SYS_statx, CALL_STATX },
	{ SYS_fsync, CALL_FSYNC },
	{ SYS_fdatasync, CALL_FDATASYNC },
	{ SYS_sync_file_range, CALL_SYNC_RANGE },
	{ SYS_renameat, CALL_RENAMEAT },
	{ SYS_renameat2, CALL_RENAMEAT },
	{ SYS_unlinkat, CALL_UNLINKAT },
	{ SYS_mkdirat, CALL_MKDIRAT },
	{ SYS_getdents64, CALL_GETDENTS },
	{ SYS_mmap, CALL_MMAP },
	{ SYS_munmap, CALL_MUNMAP },
	{ SYS_fallocate, CALL_FALLOCATE },
	{ SYS_ftruncate, CALL_FTRUNCATE },
	{ SYS_fadvise64, CALL_FADVISE },
	{ SYS_madvise, CALL_MADVISE },
	{ SYS_sendfile, CALL_SENDFILE },
	{ SYS_copy_file_range, CALL_COPY_RANGE },
	{ SYS_splice, CALL_SPLICE },
	{ SYS_io_submit, CALL_IO_SUBMIT },
	{ SYS_io_getevents, CALL_IO_GETEVENTS },
	{ SYS_io_pgetevents, CALL_IO_GETEVENTS },
/* Of older machines, of which newer ones have only the general form. */
#ifdef SYS_open
	{ SYS_open, CALL_OPEN },
	{ SYS_creat, CALL_CREAT },
	{ SYS_stat, CALL_STAT },
	{ SYS_lstat, CALL_STAT },
	{ SYS_dup2, CALL_DUP2 },
	{ SYS_rename, CALL_RENAME },
	{ SYS_unlink, CALL_UNLINK },
	{ SYS_mkdir, CALL_MKDIR },
	{ SYS_rmdir, CALL_RMDIR },
	{ SYS_getdents, CALL_GETDENTS },
#endif
};

void bpf_calls_fill(uint8_t call_of[CALL_NUMBERS])
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].number < CALL_NUMBERS)
			call_of[numbers[i].number] = (uint8_t)numbers[i].call;
}
