/* SPDX-License-Identifier: Apache-2.0 */
/* test_strace_calls.c - calls of strace are records, with files and offsets as far as the log has
 * them. */
#include "suites.h"

#include "strace_rig.h"

/* ---- names ---- */

START_TEST(names_are_the_bytes_that_they_stand_for)
{
	ROWS("7 00:00:01 unlink(\"/d\\n\\t\\\"\\\\\\303\\251\\x41\\7z\") = 0 <0>\n",
	     "1" S ",0,7,7,,unlink,\"/d\\x0A\\x09\"\"\\\\\303\251A\\x07z\",,0,0,\n");
	ROWS("7 00:00:01 fsync(3</d/a\\40b\\74c\\76(x), \\\"y\\\">) = 0 <0>\n",
	     "1" S ",0,7,7,,fsync,\"/d/a b<c>(x), \"\"y\"\"\",,0,0,\n");
	ROWS("7 00:00:01 fsync(3<\\x2f\\x61>) = 0 <0>\n", "1" S ",0,7,7,,fsync,/a,,0,0,\n");
	rows_of("7 00:00:01 unlink(\"/a\"...) = 0\n"
		"7 00:00:01 unlink(\"/a\\0b\") = 0\n"
		"7 00:00:01 unlink(0x7fff) = -1 EFAULT (Bad address)\n");
	ck_assert_uint_eq(m.tally.unread, 2);
}
END_TEST

START_TEST(a_path_begins_where_the_process_or_its_folder_is)
{
	ROWS("7 00:00:01 unlink(\"x\") = 0 <0>\n"
	     "7 00:00:02 chdir(\"/d\") = 0 <0>\n"
	     "7 00:00:03 unlink(\"./x\") = 0 <0>\n"
	     "7 00:00:04 chdir(\"e\") = 0 <0>\n"
	     "7 00:00:05 unlink(\"../x//y\") = 0 <0>\n"
	     "7 00:00:06 openat(AT_FDCWD, \"f\", O_RDONLY|O_DIRECTORY) = 3 <0>\n"
	     "7 00:00:07 unlinkat(3, \"g\", 0) = 0 <0>\n"
	     "7 00:00:08 fchdir(3) = 0 <0>\n"
	     "7 00:00:09 unlink(\"h\") = 0 <0>\n"
	     "7 00:00:10 unlinkat(9</p>, \"q\", AT_REMOVEDIR) = 0 <0>\n"
	     "7 00:00:11 unlinkat(AT_FDCWD</w>, \"q\", 0) = 0 <0>\n"
	     "7 00:00:12 unlink(\"r\") = 0 <0>\n",
	     "1" S ",0,7,7,,unlink,x,,0,0,\n"
	     "3" S ",0,7,7,,unlink,/d/x,,0,0,\n"
	     "5" S ",0,7,7,,unlink,/d/e/../x/y,,0,0,\n"
	     "6" S ",0,7,7,,open,/d/e/f,,65536,3,\n"
	     "7" S ",0,7,7,,unlink,/d/e/f/g,,0,0,\n"
	     "9" S ",0,7,7,,unlink,/d/e/f/h,,0,0,\n"
	     "10" S ",0,7,7,,rmdir,/p/q,,0,0,\n"
	     "11" S ",0,7,7,,unlink,/w/q,,0,0,\n"
	     "12" S ",0,7,7,,unlink,/w/r,,0,0,\n");
}
END_TEST

START_TEST(what_the_result_says_is_the_file_links_followed)
{
	ROWS("7 00:00:01 openat(AT_FDCWD</w>, \"link\", O_RDWR|O_CREAT|O_APPEND, 0644) = "
	     "3</w/file> <0>\n"
	     "7 00:00:02 openat(AT_FDCWD</w>, \"none\", O_RDONLY) = -1 ENOENT (No such file or "
	     "directory) <0>\n"
	     "7 00:00:03 close(3</w/file>(deleted)) = 0 <0>\n",
	     "1" S ",0,7,7,,open,/w/file,,1090,3,\n"
	     "2" S ",0,7,7,,open,/w/none,,0,-2,\n"
	     "3" S ",0,7,7,,close,/w/file,,0,0,\n");
}
END_TEST

/* ---- reads, writes, positions ---- */

#define OPEN_A "7 00:00:01 openat(AT_FDCWD, \"/a\", O_RDWR) = 3 <0>\n"
#define ROW_A "1" S ",0,7,7,,open,/a,,2,3,\n"

START_TEST(offsets_follow_from_the_calls_before)
{
	ROWS(OPEN_A "7 00:00:02 read(3, \"x\"..., 100) = 50 <0>\n"
		    "7 00:00:03 write(3, \"x\"..., 30) = 30 <0>\n"
		    "7 00:00:04 lseek(3, 1000, SEEK_SET) = 1000 <0>\n"
		    "7 00:00:05 dup(3) = 4 <0>\n"
		    "7 00:00:06 readv(4, [{iov_base=\"x\"..., iov_len=10}, {iov_base=\"\", "
		    "iov_len=20}], 2) = 15 <0>\n"
		    "7 00:00:07 pread64(3, \"x\", 4, 77) = 4 <0>\n"
		    "7 00:00:08 preadv2(3, [{iov_base=\"x\", iov_len=1}], 1, -1, 0) = 1 <0>\n"
		    "7 00:00:09 read(3, 0x7f01, 5) = -1 EIO (Input/output error) <0>\n"
		    "7 00:00:10 _llseek(3, 4, [8], SEEK_SET) = 0 <0>\n"
		    "7 00:00:11 read(3, \"x\", 1) = 1 <0>\n",
	     ROW_A "2" S ",0,7,7,,read,/a,0,100,50,\n"
		   "3" S ",0,7,7,,write,/a,50,30,30,\n"
		   "6" S ",0,7,7,,read,/a,1000,30,15,\n"
		   "7" S ",0,7,7,,read,/a,77,4,4,\n"
		   "8" S ",0,7,7,,read,/a,1015,1,1,\n"
		   "9" S ",0,7,7,,read,/a,1016,5,-5,\n"
		   "11" S ",0,7,7,,read,/a,8,1,1,\n");
	ck_assert_uint_eq(m.tally.inferred, 6);
	ck_assert_uint_eq(m.tally.inexact, 0);
}
END_TEST

START_TEST(children_and_threads_move_the_same_position)
{
	ROWS(OPEN_A "7 00:00:02 vfork( <unfinished ...>\n"
		    "8 00:00:03 read(3, \"x\", 10) = 10 <0>\n"
		    "7 00:00:04 <... vfork resumed>) = 8 <2.0>\n"
		    "7 00:00:05 read(3,  <unfinished ...>\n"
		    "8 00:00:06 read(3, \"x\", 1) = 1 <0>\n"
		    "7 00:00:07 <... read resumed>\"x\", 5) = 5 <2.0>\n"
		    "8 00:00:09 read(3, \"x\", 1) = 1 <0>\n",
	     ROW_A "2" S ",2" S ",7,7,,fork,,,0,8,\n"
		   "3" S ",0,8,8,,read,/a,0,10,10,\n"
		   "5" S ",2" S ",7,7,,read,/a,11,5,5,\n"
		   "6" S ",0,8,8,,read,/a,10,1,1,\n"
		   "9" S ",0,8,8,,read,/a,16,1,1,\n");
	ck_assert_uint_eq(m.tally.inexact, 2);
	ck_assert_uint_eq(m.tally.inferred, 2);
}
END_TEST

START_TEST(a_child_that_is_not_followed_makes_positions_inexact)
{
	ROWS("00:00:01 set_tid_address(0x7f01) = 7 <0>\n"
	     "00:00:01 openat(AT_FDCWD, \"/a\", O_RDWR) = 3 <0>\n"
	     "00:00:02 fork() = 8 <0>\n"
	     "00:00:03 read(3, \"x\", 10) = 10 <0>\n",
	     ROW_A "2" S ",0,7,7,,fork,,,0,8,\n"
		   "3" S ",0,7,7,,read,/a,0,10,10,\n");
	ck_assert_uint_eq(m.tally.inexact, 1);
}
END_TEST

START_TEST(what_was_open_before_has_no_offset_until_a_seek)
{
	ROWS("7 00:00:01 read(0</a>, \"x\", 1) = 1 <0>\n"
	     "7 00:00:02 read(5, \"x\", 1) = 1 <0>\n"
	     "7 00:00:03 lseek(0</a>, 0, SEEK_CUR) = 9 <0>\n"
	     "7 00:00:04 read(0</a>, \"x\", 1) = 1 <0>\n",
	     "1" S ",0,7,7,,read,/a,,1,1,\n"
	     "4" S ",0,7,7,,read,/a,9,1,1,\n");
	ck_assert_ptr_nonnull(
		strstr(buf_str(&m.tally.notes),
		       "1 call on descriptors that were opened before the log begins"));
}
END_TEST

START_TEST(what_is_no_file_is_left_out_and_not_complained_of)
{
	ROWS("7 00:00:01 pipe2([3, 4], O_CLOEXEC) = 0\n"
	     "7 00:00:01 read(3, \"x\", 1) = 1\n"
	     "7 00:00:01 socket(AF_INET, SOCK_STREAM, 0) = 5\n"
	     "7 00:00:01 write(5, \"x\", 1) = 1\n"
	     "7 00:00:01 read(6<TCP:[[::1]:33->[::1]:44]>, \"x\", 1) = 1\n"
	     "7 00:00:01 read(7<UNIX:[1->2,\"/r]>\"]>, \"x\", 1) = 1\n"
	     "7 00:00:01 read(0</dev/pts/0<char 136:0>>, \"x\", 1) = 1\n"
	     "7 00:00:01 write(2</dev/null>, \"x\", 1) = 1\n"
	     "7 00:00:01 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 8</memfd:x>(deleted), 0) = "
	     "0x7f01000\n"
	     "7 00:00:01 close(3) = 0\n"
	     "7 00:00:01 read(99, 0x7f, 1) = -1 EBADF (Bad file descriptor)\n",
	     "");
	ck_assert_str_eq(buf_str(&m.tally.notes),
			 "times have no date, and day 0 is assumed for the "
			 "first line; strace -ttt adds the date\n");
	ck_assert_uint_eq(m.tally.unread, 0);
}
END_TEST

START_TEST(what_is_appended_goes_to_the_end)
{
	ROWS("7 00:00:01 openat(AT_FDCWD, \"/a\", O_WRONLY|O_APPEND) = 3 <0>\n"
	     "7 00:00:02 write(3, \"x\", 10) = 10 <0>\n"
	     "7 00:00:03 fstat(3, {st_mode=S_IFREG|0644, st_size=500, ...}) = 0 <0>\n"
	     "7 00:00:04 write(3, \"x\", 10) = 10 <0>\n"
	     "7 00:00:05 pwrite64(3, \"x\", 10, 0) = 10 <0>\n"
	     "7 00:00:06 write(3, \"x\", 10) = 10 <0>\n",
	     "1" S ",0,7,7,,open,/a,,1025,3,\n"
	     "2" S ",0,7,7,,write,/a,,10,10,\n"
	     "3" S ",0,7,7,,stat,/a,,500,0,\n"
	     "4" S ",0,7,7,,write,/a,500,10,10,\n"
	     "5" S ",0,7,7,,write,/a,510,10,10,\n"
	     "6" S ",0,7,7,,write,/a,520,10,10,\n");
}
END_TEST

START_TEST(copies_in_the_kernel_are_reads_and_writes)
{
	ROWS(OPEN_A "7 00:00:01 openat(AT_FDCWD, \"/b\", O_RDWR) = 4 <0>\n"
		    "7 00:00:02 sendfile(4, 3, [3] => [13], 10) = 10 <0>\n"
		    "7 00:00:03 copy_file_range(3, [5], 4, NULL, 20, 0) = 20 <0>\n"
		    "7 00:00:04 pipe([5, 6]) = 0 <0>\n"
		    "7 00:00:05 splice(3, NULL, 6, NULL, 3, 0) = 3 <0>\n",
	     ROW_A "1" S ",0,7,7,,open,/b,,2,4,\n"
		   "2" S ",0,7,7,,read,/a,3,10,10,\n"
		   "2" S ",0,7,7,,write,/b,0,10,10,\n"
		   "3" S ",0,7,7,,read,/a,5,20,20,\n"
		   "3" S ",0,7,7,,write,/b,10,20,20,\n"
		   "5" S ",0,7,7,,read,/a,0,3,3,\n");
}
END_TEST

START_TEST(descriptors_come_and_go_as_the_log_says)
{
	ROWS(OPEN_A "7 00:00:02 fcntl(3, F_DUPFD_CLOEXEC, 10) = 10 <0>\n"
		    "7 00:00:02 dup2(3, 11) = 11 <0>\n"
		    "7 00:00:02 fcntl(11, F_SETFD, FD_CLOEXEC) = 0 <0>\n"
		    "7 00:00:02 dup3(3, 12, O_CLOEXEC) = 12 <0>\n"
		    "7 00:00:02 fcntl(12, F_SETFD, 0) = 0 <0>\n"
		    "7 00:00:03 execve(\"/bin/x\", [\"x\", \"a b\"], 0x7f /* 3 vars */) = 0 <0>\n"
		    "7 00:00:04 fsync(3) = 0 <0>\n"
		    "7 00:00:05 fsync(10) = -1 EBADF (Bad file descriptor) <0>\n"
		    "7 00:00:06 fsync(11) = -1 EBADF (Bad file descriptor) <0>\n"
		    "7 00:00:07 fsync(12) = 0 <0>\n"
		    "7 00:00:08 close_range(4, 4294967295, 0) = 0 <0>\n"
		    "7 00:00:09 fsync(12) = -1 EBADF (Bad file descriptor) <0>\n"
		    "7 00:00:10 execve(\"/bin/y\", 0x7f, 0x7f) = -1 ENOENT (No such file or "
		    "directory) <0>\n",
	     ROW_A "3" S ",0,7,7,,exec,/bin/x,,0,0,\n"
		   "4" S ",0,7,7,,fsync,/a,,0,0,\n"
		   "7" S ",0,7,7,,fsync,/a,,0,0,\n");
	ck_assert_ptr_null(strstr(buf_str(&m.tally.notes), "descriptors"));
}
END_TEST

START_TEST(mappings_say_what_is_unmapped)
{
	ROWS(OPEN_A "7 00:00:02 mmap(NULL, 10000, PROT_READ, MAP_SHARED, 3, 0x1000) = 0x10000 <0>\n"
		    "7 00:00:03 madvise(0x11000, 4096, MADV_WILLNEED) = 0 <0>\n"
		    "7 00:00:04 msync(0x10000, 4096, MS_SYNC) = 0 <0>\n"
		    "7 00:00:05 munmap(0x10000, 4096) = 0 <0>\n"
		    "7 00:00:06 munmap(0x10000, 4096) = 0 <0>\n"
		    "7 00:00:07 mmap(0x11000, 4096, PROT_READ, "
		    "MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS, -1, 0) = 0x11000 <0>\n"
		    "7 00:00:08 munmap(0x11000, 4096) = 0 <0>\n"
		    "7 00:00:09 munmap(0x12000, 4096) = 0 <0>\n"
		    "7 00:00:10 mmap(NULL, 1, PROT_READ, MAP_SHARED, 3, 0) = -1 ENOMEM (Cannot "
		    "allocate memory) <0>\n",
	     ROW_A "2" S ",0,7,7,,mmap,/a,4096,10000,65536,\n"
		   "3" S ",0,7,7,,advise,/a,,4096,0,\n"
		   "4" S ",0,7,7,,fsync,/a,,4096,0,\n"
		   "5" S ",0,7,7,,munmap,/a,65536,4096,0,\n"
		   "9" S ",0,7,7,,munmap,/a,73728,4096,0,\n"
		   "10" S ",0,7,7,,mmap,/a,0,1,-12,\n");
}
END_TEST

START_TEST(calls_on_paths_and_ranges)
{
	ROWS(OPEN_A
	     "7 00:00:02 stat(\"/a\", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0 <0>\n"
	     "7 00:00:03 statx(AT_FDCWD, \"/a\", AT_STATX_SYNC_AS_STAT, STATX_SIZE, "
	     "{stx_mask=STATX_SIZE, stx_size=10, ...}) = 0 <0>\n"
	     "7 00:00:04 newfstatat(3, \"\", {st_size=11, ...}, AT_EMPTY_PATH) = 0 <0>\n"
	     "7 00:00:05 lstat(\"/z\", 0x7f) = -1 EACCES (Permission denied) <0>\n"
	     "7 00:00:05 lstat(\"/z\", 0x7f) = -1 (errno 524) <0>\n"
	     "7 00:00:06 fallocate(3, 0, 5, 100) = 0 <0>\n"
	     "7 00:00:07 fadvise64(3, 1, 2, POSIX_FADV_DONTNEED) = 0 <0>\n"
	     "7 00:00:08 sync_file_range(3, 3, 4, SYNC_FILE_RANGE_WRITE) = 0 <0>\n"
	     "7 00:00:09 ftruncate(3, 77) = 0 <0>\n"
	     "7 00:00:10 getdents64(3, 0x7f /* 2 entries */, 32768) = 48 <0>\n"
	     "7 00:00:11 mkdir(\"/m\", 0777) = -1 EEXIST (File exists) <0>\n"
	     "7 00:00:12 fdatasync(3) = 0 <0>\n"
	     "7 00:00:13 renameat2(AT_FDCWD, \"/a\", AT_FDCWD, \"/b\", RENAME_NOREPLACE) = 0 <0>\n"
	     "7 00:00:14 close(3) = 0 <0>\n",
	     ROW_A "2" S ",0,7,7,,stat,/a,,9,0,\n"
		   "3" S ",0,7,7,,stat,/a,,10,0,\n"
		   "4" S ",0,7,7,,stat,/a,,11,0,\n"
		   "5" S ",0,7,7,,stat,/z,,,-13,\n"
		   "5" S ",0,7,7,,stat,/z,,,-524,\n"
		   "6" S ",0,7,7,,allocate,/a,5,100,0,\n"
		   "7" S ",0,7,7,,advise,/a,1,2,0,\n"
		   "8" S ",0,7,7,,fdatasync,/a,3,4,0,\n"
		   "9" S ",0,7,7,,allocate,/a,0,77,0,\n"
		   "10" S ",0,7,7,,getdents,/a,,32768,48,\n"
		   "11" S ",0,7,7,,mkdir,/m,,0,-17,\n"
		   "12" S ",0,7,7,,fdatasync,/a,,0,0,\n"
		   "13" S ",0,7,7,,rename,/a\\x00/b,,0,0,\n"
		   "14" S ",0,7,7,,close,/b,,0,0,\n");
}
END_TEST

/* ---- asynchronous ---- */

#define SUBMIT                                                                                     \
	"7 00:00:02 io_submit(0x7f01, 2, [{aio_data=0x7, "                                         \
	"aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3, aio_buf=0x55, "                              \
	"aio_nbytes=4096, aio_offset=0}, {aio_data=0x8, "                                          \
	"aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=3, aio_buf=\"\\0\"..., "                       \
	"aio_nbytes=512, aio_offset=8192}]) = 2 <0.000001>\n"

START_TEST(requests_last_from_submission_to_completion)
{
	ROWS(OPEN_A SUBMIT "7 00:00:03 io_getevents(0x7f01, 1, 8, [{data=0x8, obj=0x7f, res=512, "
			   "res2=0}, {data=0x7, obj=0x7e, res=-5, res2=0}], NULL) = 2 <1.000000>\n",
	     ROW_A "2" S ",2" S ",7,7,,write,/a,8192,512,512,\n"
		   "2" S ",2" S ",7,7,,read,/a,0,4096,-5,\n");
	ROWS(OPEN_A SUBMIT, ROW_A "2" S ",,7,7,,read,/a,0,4096,4096,\n"
				  "2" S ",,7,7,,write,/a,8192,512,512,\n");
	ck_assert_ptr_nonnull(strstr(buf_str(&m.tally.notes), "the end of 2 requests of libaio"));
	rows_of("7 00:00:01 io_uring_enter(4, 1, 1, 0, NULL, 8) = 1\n");
	ck_assert_ptr_nonnull(strstr(buf_str(&m.tally.notes), "io_uring"));
}
END_TEST

/* ---- processes ---- */

START_TEST(a_thread_that_executes_becomes_its_process)
{
	ROWS(OPEN_A "7 00:00:02 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, "
		    "parent_tid=[8]) = 8 <0>\n"
		    "8 00:00:03 execve(\"/bin/x\", [\"x\"], 0x7f /* 1 var */ <unfinished ...>\n"
		    "7 00:00:04 +++ superseded by execve in pid 8 +++\n"
		    "7 00:00:05 <... execve resumed>) = 0 <2.0>\n"
		    "7 00:00:06 fsync(3) = 0 <0>\n"
		    "7 00:00:07 +++ exited with 0 +++\n",
	     ROW_A "3" S ",2" S ",7,7,,exec,/bin/x,,0,0,\n"
		   "6" S ",0,7,7,,fsync,/a,,0,0,\n"
		   "7" S ",0,7,7,,exit,,,0,0,\n");
	ck_assert_uint_eq(m.tally.unread, 0);
}
END_TEST

static void know_threads(struct strace_reader *r)
{
	strace_reader_task(r, 8, 7, 1, "loader", "/w");
	strace_reader_task(r, 7, 7, 1, NULL, NULL);
}

START_TEST(threads_that_were_there_before_are_of_their_process)
{
	before = know_threads;
	ROWS("8 00:00:01 openat(AT_FDCWD, \"a\", O_RDWR) = 3 <0>\n"
	     "7 00:00:02 read(3, \"x\", 1) = 1 <0>\n",
	     "1" S ",0,7,8,,open,/w/a,,2,3,\n"
	     "2" S ",0,7,7,,read,/w/a,0,1,1,\n");
}
END_TEST

static void know_descriptors(struct strace_reader *r)
{
	strace_reader_task(r, 7, 7, 1, "logger", "/w");
	strace_reader_fd(r, 7, 3, true);
	strace_reader_fd(r, 7, 4, false);
}

#define SEEK_AND_WRITE(fd)                                                                         \
	"7 00:00:01 lseek(" fd "</w/a>, 0, SEEK_CUR) = 0 <0>\n"                                    \
	"7 00:00:02 write(" fd "</w/a>, \"x\", 1) = 1 <0>\n"

START_TEST(what_was_open_for_appends_writes_to_an_end_that_is_not_known)
{
	before = know_descriptors;
	ROWS(SEEK_AND_WRITE("3"), "2" S ",0,7,7,,write,/w/a,,1,1,\n");
	ROWS(SEEK_AND_WRITE("4"), "2" S ",0,7,7,,write,/w/a,0,1,1,\n");
	ck_assert_uint_eq(m.tally.inexact, 0);
	before = NULL;
	/* Nobody says how it was opened. */
	ROWS(SEEK_AND_WRITE("3"), "2" S ",0,7,7,,write,/w/a,0,1,1,\n");
	ck_assert_uint_eq(m.tally.inexact, 1);
	ROWS("7 00:00:00 fcntl(3</w/a>, F_GETFL) = 0x8401 (flags O_WRONLY|O_APPEND|O_LARGEFILE) "
	     "<0>\n" SEEK_AND_WRITE("3"),
	     "2" S ",0,7,7,,write,/w/a,,1,1,\n");
}
END_TEST

START_TEST(a_fork_that_was_taken_for_another_is_put_right)
{
	/* Two in a fork at a time: the child of which is not known yet. */
	ROWS(OPEN_A "7 00:00:02 fork( <unfinished ...>\n"
		    "9 00:00:03 openat(AT_FDCWD, \"/b\", O_RDONLY) = 3 <0>\n"
		    "9 00:00:04 fork( <unfinished ...>\n"
		    "11 00:00:05 getpid() = 11 <0>\n"
		    "9 00:00:06 <... fork resumed>) = 11 <2.0>\n"
		    "7 00:00:06 <... fork resumed>) = 10 <2.0>\n"
		    "10 00:00:07 fsync(3) = 0 <0>\n"
		    "11 00:00:08 fsync(3) = 0 <0>\n",
	     ROW_A "2" S ",2" S ",7,7,,fork,,,0,10,\n"
		   "3" S ",0,9,9,,open,/b,,0,3,\n"
		   "4" S ",2" S ",9,9,,fork,,,0,11,\n"
		   "7" S ",0,10,10,,fsync,/a,,0,0,\n"
		   "8" S ",0,11,11,,fsync,/b,,0,0,\n");
}
END_TEST

Suite *suite_strace_calls(void)
{
	Suite *s = suite_create("strace_calls");
	TCase *c = tcase_create("calls");

	tcase_add_checked_fixture(c, NULL, free_all);
	tcase_add_test(c, names_are_the_bytes_that_they_stand_for);
	tcase_add_test(c, a_path_begins_where_the_process_or_its_folder_is);
	tcase_add_test(c, what_the_result_says_is_the_file_links_followed);
	tcase_add_test(c, offsets_follow_from_the_calls_before);
	tcase_add_test(c, children_and_threads_move_the_same_position);
	tcase_add_test(c, a_child_that_is_not_followed_makes_positions_inexact);
	tcase_add_test(c, what_was_open_before_has_no_offset_until_a_seek);
	tcase_add_test(c, what_is_no_file_is_left_out_and_not_complained_of);
	tcase_add_test(c, what_is_appended_goes_to_the_end);
	tcase_add_test(c, copies_in_the_kernel_are_reads_and_writes);
	tcase_add_test(c, descriptors_come_and_go_as_the_log_says);
	tcase_add_test(c, mappings_say_what_is_unmapped);
	tcase_add_test(c, calls_on_paths_and_ranges);
	tcase_add_test(c, requests_last_from_submission_to_completion);
	tcase_add_test(c, a_thread_that_executes_becomes_its_process);
	tcase_add_test(c, threads_that_were_there_before_are_of_their_process);
	tcase_add_test(c, what_was_open_for_appends_writes_to_an_end_that_is_not_known);
	tcase_add_test(c, a_fork_that_was_taken_for_another_is_put_right);
	suite_add_tcase(s, c);
	return s;
}
