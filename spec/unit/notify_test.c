/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a notified call are copied as the kernel would take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/notify.h"
#include "core/system.h"

static long page;

/* Two pages, of which the second is not there. */
static char *edge(void)
{
	char *two = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(two, MAP_FAILED);
	assert_int_equal(munmap(two + page, (size_t)page), 0);
	return two + page;
}

static ssize_t read_path(const void *address, char path[PATH_MAX])
{
	return notify_read_path(getpid(), (uint64_t)(uintptr_t)address, path);
}

static void paths_at_the_edge_of_memory(void **state)
{
	char path[PATH_MAX], *end = edge();

	(void)state;
	memcpy(end - 6, "/a/bc", 6);
	assert_int_equal(read_path(end - 6, path), 5);
	assert_string_equal(path, "/a/bc");
	end[-1] = 'x';
	assert_int_equal(read_path(end - 6, path), -EFAULT);
	assert_int_equal(read_path(end, path), -EFAULT);
	assert_int_equal(read_path(NULL, path), -EFAULT);
	assert_int_equal(notify_read_path(getpid(), UINT64_MAX - 2, path),
			 -EFAULT);
	end[-1] = '\0';
	assert_int_equal(read_path(end - 1, path), 0);
}

static void long_paths(void **state)
{
	static char text[3 * PATH_MAX];
	char path[PATH_MAX];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(read_path(text, path), -ENAMETOOLONG);
	text[PATH_MAX] = '\0';
	assert_int_equal(read_path(text, path), -ENAMETOOLONG);
	assert_int_equal(read_path(text + 1, path), PATH_MAX - 1);
	assert_int_equal(strlen(path), PATH_MAX - 1);
	/* Most are read in one piece, which these fill. */
	for (int size = 255; size <= 257; size++) {
		text[size] = '\0';
		assert_int_equal(read_path(text, path), size);
		assert_int_equal(strlen(path), size);
		text[size] = 'a';
	}
	/* Over the end of a page. */
	for (int i = 0; i < 3; i++) {
		char *at = text + page - (uintptr_t)text % (size_t)page - i;

		memcpy(at, "xyz", 4);
		assert_int_equal(read_path(at, path), 3);
		assert_string_equal(path, "xyz");
	}
}

static void callers_that_are_gone(void **state)
{
	char path[PATH_MAX];
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(notify_read_path(pid, (uint64_t)(uintptr_t) "x", path),
			 -ESRCH);
}

/* A child whose mkdir(2) are notified; it reports what they return. */
static pid_t notified_child(struct notify *notify, void (*act)(void))
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };
	size_t count = 1;
	int pair[2], listener;
	char word;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		listener = notify_install(&program);
		if (listener < 0 || sys_send(pair[1], "", 1, &listener, 1))
			_exit(99);
		close(listener);
		act();
		_exit(98);
	}
	close(pair[1]);
	assert_int_equal(sys_receive(pair[0], &word, 1, &listener, &count), 1);
	assert_int_equal(count, 1);
	close(pair[0]);
	assert_int_equal(notify_open(notify, listener), 0);
	return pid;
}

static int status_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void make_and_exit(void)
{
	int fd;

	umask(027);
	if (chdir("/usr"))
		_exit(97);
	fd = open("/etc/passwd", O_RDONLY);
	if (dup2(fd, 7) != 7)
		_exit(97);
	fd = (int)syscall(SYS_mkdirat, 7, "a name", 0700);
	/* A descriptor, which the call never returns by itself. */
	_exit(fd > 2 && fcntl(fd, F_GETFD) == FD_CLOEXEC ? 1 : 2);
}

static void what_a_caller_is_like(void **state)
{
	struct notify_caller caller;
	struct notify notify;
	pid_t pid = notified_child(&notify, make_and_exit);
	char path[PATH_MAX];
	struct stat st, other;
	int fd;

	(void)state;
	assert_int_equal(notify_receive(&notify), 0);
	assert_int_equal(notify.request->pid, pid);
	assert_int_equal(
		notify_read_path(pid, notify.request->data.args[1], path), 6);
	assert_string_equal(path, "a name");
	assert_int_equal(notify_status(&notify, pid, &caller), 0);
	assert_int_equal(caller.tgid, pid);
	assert_int_equal(caller.umask, 027);
	assert_false(caller.pending);
	fd = notify_cwd(&notify, pid);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(stat("/usr", &other), 0);
	assert_int_equal(st.st_ino, other.st_ino);
	assert_int_equal(notify_path_fd(&notify, pid, 7, O_DIRECTORY),
			 -ENOTDIR);
	assert_int_equal(notify_path_fd(&notify, pid, 700, 0), -EBADF);
	assert_int_equal(notify_path_fd(&notify, pid, -5, 0), -EBADF);
	assert_true(notify_valid(&notify));
	notify_answer_fd(&notify, dup(notify.listener), true);
	assert_false(notify_valid(&notify));
	assert_int_equal(status_of(pid), 1);
	close(fd);
	notify_close(&notify);
}

static void make_for_ever(void)
{
	for (;;)
		(void)syscall(SYS_mkdirat, AT_FDCWD, "x", 0700);
}

static void a_caller_that_dies(void **state)
{
	struct notify notify;
	pid_t pid = notified_child(&notify, make_for_ever);

	(void)state;
	assert_int_equal(notify_receive(&notify), 0);
	kill(pid, SIGKILL);
	assert_int_equal(status_of(pid), -SIGKILL);
	assert_false(notify_valid(&notify));
	/* Nobody is there to be answered. */
	notify_answer(&notify, -EACCES);
	notify_close(&notify);
}

static void make_once(void)
{
	long result = syscall(SYS_mkdirat, AT_FDCWD, "x", 0700);

	_exit(result == -1 && errno == ENOSYS ? 3 : 4);
}

static void an_agent_that_dies(void **state)
{
	struct notify notify;
	pid_t pid = notified_child(&notify, make_once);

	(void)state;
	assert_int_equal(notify_receive(&notify), 0);
	notify_close(&notify);
	assert_int_equal(status_of(pid), 3);
}

static void make_twice(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 1, code };

	/* A second listener could answer in the first one's place. */
	_exit(notify_install(&program) == -EBUSY ? 5 : 6);
}

static void a_second_listener(void **state)
{
	struct notify notify;
	pid_t pid = notified_child(&notify, make_twice);

	(void)state;
	assert_int_equal(status_of(pid), 5);
	notify_close(&notify);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_at_the_edge_of_memory),
		cmocka_unit_test(long_paths),
		cmocka_unit_test(callers_that_are_gone),
		cmocka_unit_test(what_a_caller_is_like),
		cmocka_unit_test(a_caller_that_dies),
		cmocka_unit_test(an_agent_that_dies),
		cmocka_unit_test(a_second_listener),
	};

	page = sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
