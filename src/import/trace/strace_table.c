/* SPDX-License-Identifier: Apache-2.0 */
/* strace_table.c - the calls that a log of strace may have, and the words in it. */
#include "import/trace/strace_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "base/util.h"

#define NONE (-1)

/* clang-format off */
static const struct strace_row rows[] = {
	{ "open", strace_take_open, NONE, 0, 0, TRACE_OPEN },
	{ "creat", strace_take_open, NONE, 0, 0, TRACE_OPEN },
	{ "openat", strace_take_open, 0, 1, 0, TRACE_OPEN },
	{ "openat2", strace_take_open, 0, 1, 0, TRACE_OPEN },
	{ "close", strace_take_close, NONE, 0, STRACE_CLOSES, TRACE_CLOSE },
	{ "close_range", strace_take_close_range, NONE, 0, 0, 0 },
	{ "dup", strace_take_dup, NONE, 0, 0, 0 },
	{ "dup2", strace_take_dup, NONE, 0, 0, 0 },
	{ "dup3", strace_take_dup, NONE, 0, 0, 0 },
	{ "fcntl", strace_take_fcntl, NONE, 0, 0, 0 },
	{ "fcntl64", strace_take_fcntl, NONE, 0, 0, 0 },

	{ "stat", strace_take_stat, NONE, 0, 0, TRACE_STAT },
	{ "stat64", strace_take_stat, NONE, 0, 0, TRACE_STAT },
	{ "lstat", strace_take_stat, NONE, 0, 0, TRACE_STAT },
	{ "lstat64", strace_take_stat, NONE, 0, 0, TRACE_STAT },
	{ "fstat", strace_take_stat, 0, NONE, 0, TRACE_STAT },
	{ "fstat64", strace_take_stat, 0, NONE, 0, TRACE_STAT },
	{ "newfstatat", strace_take_stat, 0, 1, 0, TRACE_STAT },
	{ "fstatat64", strace_take_stat, 0, 1, 0, TRACE_STAT },
	{ "statx", strace_take_stat, 0, 1, 0, TRACE_STAT },

	{ "read", strace_take_move, NONE, 0, STRACE_MOVES, TRACE_READ },
	{ "pread64", strace_take_move, NONE, 0, STRACE_AT, TRACE_READ },
	{ "pread", strace_take_move, NONE, 0, STRACE_AT, TRACE_READ },
	{ "readv", strace_take_vector, NONE, 0, STRACE_MOVES, TRACE_READ },
	{ "preadv", strace_take_vector, NONE, 0, STRACE_AT, TRACE_READ },
	{ "preadv2", strace_take_vector, NONE, 0, STRACE_AT, TRACE_READ },
	{ "write", strace_take_move, NONE, 0, STRACE_MOVES | STRACE_WRITES, TRACE_WRITE },
	{ "pwrite64", strace_take_move, NONE, 0, STRACE_AT | STRACE_WRITES, TRACE_WRITE },
	{ "pwrite", strace_take_move, NONE, 0, STRACE_AT | STRACE_WRITES, TRACE_WRITE },
	{ "writev", strace_take_vector, NONE, 0, STRACE_MOVES | STRACE_WRITES, TRACE_WRITE },
	{ "pwritev", strace_take_vector, NONE, 0, STRACE_AT | STRACE_WRITES, TRACE_WRITE },
	{ "pwritev2", strace_take_vector, NONE, 0, STRACE_AT | STRACE_WRITES, TRACE_WRITE },
	{ "lseek", strace_take_seek, NONE, 0, STRACE_MOVES, 0 },
	{ "_llseek", strace_take_llseek, NONE, 0, STRACE_MOVES, 0 },
	{ "sendfile", strace_take_sendfile, NONE, 1, STRACE_MOVES, 0 },
	{ "sendfile64", strace_take_sendfile, NONE, 1, STRACE_MOVES, 0 },
	{ "copy_file_range", strace_take_copy, NONE, 0, STRACE_MOVES, 0 },
	{ "splice", strace_take_copy, NONE, 0, STRACE_MOVES, 0 },

	{ "fsync", strace_take_sync, NONE, 0, 0, TRACE_FSYNC },
	{ "fdatasync", strace_take_sync, NONE, 0, 0, TRACE_FDATASYNC },
	{ "sync_file_range", strace_take_range, 1, 0, 0, TRACE_FDATASYNC },
	{ "fallocate", strace_take_range, 2, 0, 0, TRACE_ALLOCATE },
	{ "fadvise64", strace_take_range, 1, 0, 0, TRACE_ADVISE },
	{ "fadvise64_64", strace_take_range, 1, 0, 0, TRACE_ADVISE },
	{ "readahead", strace_take_range, 1, 0, 0, TRACE_ADVISE },
	{ "truncate", strace_take_truncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "truncate64", strace_take_truncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "ftruncate", strace_take_ftruncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "ftruncate64", strace_take_ftruncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "getdents", strace_take_getdents, NONE, 0, 0, TRACE_GETDENTS },
	{ "getdents64", strace_take_getdents, NONE, 0, 0, TRACE_GETDENTS },

	{ "rename", strace_take_rename, NONE, 0, 0, TRACE_RENAME },
	{ "renameat", strace_take_rename, 0, 1, 0, TRACE_RENAME },
	{ "renameat2", strace_take_rename, 0, 1, 0, TRACE_RENAME },
	{ "unlink", strace_take_path, NONE, 0, 0, TRACE_UNLINK },
	{ "unlinkat", strace_take_unlink, 0, 1, 0, TRACE_UNLINK },
	{ "mkdir", strace_take_path, NONE, 0, 0, TRACE_MKDIR },
	{ "mkdirat", strace_take_path, 0, 1, 0, TRACE_MKDIR },
	{ "rmdir", strace_take_path, NONE, 0, 0, TRACE_RMDIR },
	{ "chdir", strace_take_chdir, NONE, 0, 0, 0 },
	{ "fchdir", strace_take_fchdir, NONE, 0, 0, 0 },
	{ "getcwd", strace_take_getcwd, NONE, 0, 0, 0 },

	{ "mmap", strace_take_mmap, NONE, 4, 0, TRACE_MMAP },
	{ "mmap2", strace_take_mmap, NONE, 4, 0, TRACE_MMAP },
	{ "munmap", strace_take_munmap, NONE, NONE, 0, TRACE_MUNMAP },
	{ "mremap", strace_take_mremap, NONE, NONE, 0, 0 },
	{ "madvise", strace_take_madvise, NONE, NONE, 0, TRACE_ADVISE },
	{ "msync", strace_take_madvise, NONE, NONE, 0, TRACE_FSYNC },

	{ "fork", strace_take_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "vfork", strace_take_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone", strace_take_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone2", strace_take_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone3", strace_take_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "execve", strace_take_exec, NONE, 0, 0, TRACE_EXEC },
	{ "execveat", strace_take_exec, 0, 1, 0, TRACE_EXEC },
	{ "unshare", strace_take_unshare, NONE, NONE, 0, 0 },
	{ "getpid", strace_take_own_pid, NONE, NONE, 0, 0 },
	{ "gettid", strace_take_own_pid, NONE, NONE, 0, 0 },
	{ "set_tid_address", strace_take_own_pid, NONE, NONE, 0, 0 },

	{ "io_submit", strace_take_submit, NONE, NONE, 0, 0 },
	{ "io_getevents", strace_take_events, NONE, NONE, 0, 0 },
	{ "io_pgetevents", strace_take_events, NONE, NONE, 0, 0 },
	{ "io_uring_setup", strace_take_no_file, NONE, NONE, 0, 0 },
	{ "io_uring_enter", strace_take_ring, NONE, NONE, 0, 0 },

	{ "pipe", strace_take_pair, NONE, 0, 0, 0 },
	{ "pipe2", strace_take_pair, NONE, 0, 0, 0 },
	{ "socketpair", strace_take_pair, NONE, 3, 0, 0 },
};
/* clang-format on */

/* They give a descriptor that has no place on storage. */
static const char no_files[] =
	"socket accept accept4 eventfd eventfd2 epoll_create epoll_create1 timerfd_create signalfd "
	"signalfd4 inotify_init inotify_init1 memfd_create memfd_secret userfaultfd "
	"perf_event_open fanotify_init pidfd_open pidfd_getfd mq_open fsopen fspick fsmount "
	"open_tree landlock_create_ruleset";

/* They ask nothing of storage, or nothing that a trace has. */
static const char no_io[] =
	"_newselect _sysctl access acct add_key adjtimex alarm arch_prctl bind bpf brk cachestat "
	"capget capset clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime "
	"connect delete_module epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait "
	"epoll_wait_old exit exit_group faccessat faccessat2 fanotify_mark fgetxattr flistxattr "
	"flock fsconfig fstatfs fstatfs64 futex futex_requeue futex_wait futex_waitv futex_wake "
	"get_kernel_syms get_mempolicy get_robust_list get_thread_area getcpu getegid getegid32 "
	"geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid "
	"getpgrp getpmsg getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 "
	"getrlimit getrusage getsid getsockname getsockopt gettimeofday getuid getuid32 getxattr "
	"idle init_module inotify_add_watch inotify_rm_watch io_cancel io_destroy io_setup "
	"io_uring_register ioctl ioperm iopl ioprio_get ioprio_set ipc kcmp kexec_file_load "
	"kexec_load keyctl kill landlock_add_rule landlock_restrict_self lgetxattr listen "
	"listxattr llistxattr lookup_dcookie lsm_get_self_attr map_shadow_stack mbind membarrier "
	"migrate_pages mincore mlock mlock2 mlockall modify_ldt mount mount_setattr move_mount "
	"move_pages mprotect mq_getsetattr mq_notify mq_timedreceive mq_timedsend mq_unlink mseal "
	"msgctl msgget msgrcv msgsnd munlock munlockall name_to_handle_at nanosleep nice oldfstat "
	"oldlstat oldstat pause personality pidfd_send_signal pivot_root pkey_alloc pkey_free "
	"pkey_mprotect poll ppoll prctl prlimit64 process_madvise process_mrelease "
	"process_vm_readv process_vm_writev pselect6 ptrace quotactl quotactl_fd readlink "
	"readlinkat reboot recv recvfrom recvmmsg recvmsg remap_file_pages request_key "
	"restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
	"rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
	"sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
	"sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler "
	"sched_yield select semctl semget seccomp semop semtimedop send sendmmsg sendmsg sendto "
	"set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area setdomainname "
	"setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 sethostname "
	"setitimer setns setpgid setpriority setregid setregid32 setresgid setresgid32 setresuid "
	"setresuid32 setreuid setreuid32 setrlimit setsid setsockopt settimeofday setuid setuid32 "
	"sgetmask shmat shmctl shmdt shmget shutdown sigaction sigaltstack signal sigpending "
	"sigprocmask sigreturn sigsuspend socketcall ssetmask statfs statfs64 stime swapoff swapon "
	"sysfs sysinfo syslog tee tgkill time timer_create timer_delete timer_getoverrun "
	"timer_gettime timer_settime timerfd_gettime timerfd_settime times tkill ugetrlimit ulimit "
	"umask umount umount2 uname uselib ustat vhangup vmsplice wait4 waitid waitpid "
	"clock_getres_time64 clock_gettime64 clock_nanosleep_time64 futex_time64 ppoll_time64 "
	"pselect6_time64 rt_sigtimedwait_time64 ???";

static const struct strace_row row_of_no_file = { "", strace_take_no_file, NONE, NONE, 0, 0 };
static const struct strace_row row_of_no_io = { "", NULL, NONE, NONE, 0, 0 };

enum { VALUE_NO_FILE = -1, VALUE_NO_IO = -2 };

struct value {
	const char *name;
	int64_t value;
};

#define W(name)                                                                                    \
	{                                                                                          \
#name, name                                                                        \
	}
/* clang-format off */
static const struct value values[] = {
	W(O_RDONLY), W(O_WRONLY), W(O_RDWR), W(O_ACCMODE), W(O_CREAT),
	W(O_EXCL), W(O_NOCTTY), W(O_TRUNC), W(O_APPEND), W(O_NONBLOCK),
	W(O_DSYNC), W(O_SYNC), W(O_DIRECT), W(O_DIRECTORY), W(O_NOFOLLOW),
	W(O_NOATIME), W(O_CLOEXEC), W(O_PATH), W(O_TMPFILE),
	{ "O_LARGEFILE", 0100000 }, { "FASYNC", O_ASYNC },
	{ "CLONE_FILES", (int64_t)STRACE_CLONE_FILES },
	{ "CLONE_THREAD", (int64_t)STRACE_CLONE_THREAD },

	W(EPERM), W(ENOENT), W(ESRCH), W(EINTR), W(EIO), W(ENXIO), W(E2BIG),
	W(ENOEXEC), W(EBADF), W(ECHILD), W(EAGAIN), W(ENOMEM), W(EACCES),
	W(EFAULT), W(ENOTBLK), W(EBUSY), W(EEXIST), W(EXDEV), W(ENODEV),
	W(ENOTDIR), W(EISDIR), W(EINVAL), W(ENFILE), W(EMFILE), W(ENOTTY),
	W(ETXTBSY), W(EFBIG), W(ENOSPC), W(ESPIPE), W(EROFS), W(EMLINK),
	W(EPIPE), W(EDOM), W(ERANGE), W(EDEADLK), W(ENAMETOOLONG), W(ENOLCK),
	W(ENOSYS), W(ENOTEMPTY), W(ELOOP), W(EWOULDBLOCK), W(ENOMSG),
	W(EIDRM), W(ENOSTR), W(ENODATA), W(ETIME), W(ENOSR), W(ENONET),
	W(ENOLINK), W(ECOMM), W(EPROTO), W(EBADMSG), W(EOVERFLOW),
	W(ENOTUNIQ), W(EBADFD), W(EREMCHG), W(EILSEQ), W(ERESTART),
	W(EUSERS), W(ENOTSOCK), W(EDESTADDRREQ), W(EMSGSIZE), W(EPROTOTYPE),
	W(ENOPROTOOPT), W(EPROTONOSUPPORT), W(ESOCKTNOSUPPORT),
	W(EOPNOTSUPP), W(ENOTSUP), W(EPFNOSUPPORT), W(EAFNOSUPPORT),
	W(EADDRINUSE), W(EADDRNOTAVAIL), W(ENETDOWN), W(ENETUNREACH),
	W(ENETRESET), W(ECONNABORTED), W(ECONNRESET), W(ENOBUFS), W(EISCONN),
	W(ENOTCONN), W(ESHUTDOWN), W(ETOOMANYREFS), W(ETIMEDOUT),
	W(ECONNREFUSED), W(EHOSTDOWN), W(EHOSTUNREACH), W(EALREADY),
	W(EINPROGRESS), W(ESTALE), W(EUCLEAN), W(EREMOTEIO), W(EDQUOT),
	W(ENOMEDIUM), W(EMEDIUMTYPE), W(ECANCELED), W(ENOKEY),
	W(EKEYEXPIRED), W(EKEYREVOKED), W(EKEYREJECTED), W(EOWNERDEAD),
	W(ENOTRECOVERABLE), W(ERFKILL), W(EHWPOISON),
	/* The kernel's own, which a program should not see. */
	{ "ERESTARTSYS", 512 }, { "ERESTARTNOINTR", 513 },
	{ "ERESTARTNOHAND", 514 }, { "ENOIOCTLCMD", 515 },
	{ "ERESTART_RESTARTBLOCK", 516 }, { "ENOTSUPP", 524 },

	W(SIGHUP), W(SIGINT), W(SIGQUIT), W(SIGILL), W(SIGTRAP), W(SIGABRT),
	W(SIGBUS), W(SIGFPE), W(SIGKILL), W(SIGUSR1), W(SIGSEGV), W(SIGUSR2),
	W(SIGPIPE), W(SIGALRM), W(SIGTERM), W(SIGXCPU), W(SIGXFSZ),
	W(SIGVTALRM), W(SIGPROF), W(SIGIO), W(SIGPWR), W(SIGSYS),
};
/* clang-format on */

static void add_list(struct strace_words *w, const char *list, int64_t value)
{
	for (size_t n; *list; list += n) {
		list += strspn(list, " ");
		n = strcspn(list, " ");
		strace_words_add(w, list, n, value);
	}
}

void strace_tables_fill(struct strace_words *calls, struct strace_words *words)
{
	add_list(calls, no_io, VALUE_NO_IO);
	add_list(calls, no_files, VALUE_NO_FILE);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		strace_words_add(calls, rows[i].name, strlen(rows[i].name), (int64_t)i);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		strace_words_add(words, values[i].name, strlen(values[i].name), values[i].value);
}

const struct strace_row *strace_row_of(const struct strace_reader *r, struct strace_text name)
{
	const struct strace_word *found = strace_words_find(&r->rows, name);

	if (!found)
		return NULL;
	return found->value == VALUE_NO_IO     ? &row_of_no_io
	       : found->value == VALUE_NO_FILE ? &row_of_no_file
					       : &rows[found->value];
}
