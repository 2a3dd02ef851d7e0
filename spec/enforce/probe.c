/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries one operation after the other and says what the kernel answered:
 * "op path: ok" or "op path: ERRNO". An operation takes the words after it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* All return a value below 0 with errno set when the kernel refuses. */
typedef long (*operation)(char **args);

static long close_result(int fd)
{
	return fd < 0 ? fd : close(fd);
}

static long op_read(char **a)
{
	char byte;
	int fd = open(a[0], O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		return fd;
	if (read(fd, &byte, 1) < 0 && errno != EISDIR)
		return -1;
	return close(fd);
}

static long op_list(char **a)
{
	DIR *dir = opendir(a[0]);

	if (!dir)
		return -1;
	do {
		errno = 0;
	} while (readdir(dir));
	if (errno)
		return -1;
	return closedir(dir);
}

/* What is seen there: names in a folder, or how a file begins. */
static long op_show(char **a)
{
	char text[40] = "";
	struct dirent **names;
	int count = scandir(a[0], &names, NULL, alphasort);
	ssize_t size = 0;
	int fd;

	for (int i = 0; i < count; i++)
		if (names[i]->d_name[0] != '.')
			printf(" %s", names[i]->d_name);
	if (count >= 0 || errno != ENOTDIR)
		return count;
	fd = open(a[0], O_RDONLY | O_NONBLOCK);
	if (fd >= 0)
		size = read(fd, text, sizeof(text) - 1);
	printf(" [%s]", text);
	return size < 0 ? -1 : close_result(fd);
}

static long op_stat(char **a)
{
	struct stat st;

	return lstat(a[0], &st);
}

static long op_write(char **a)
{
	int fd = open(a[0], O_WRONLY | O_NONBLOCK);

	if (fd >= 0 && write(fd, "w", 1) < 0)
		return -1;
	return close_result(fd);
}

/* Opens for writing and leaves the content alone. */
static long op_wopen(char **a)
{
	return close_result(open(a[0], O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

static long op_append(char **a)
{
	int fd = open(a[0], O_WRONLY | O_APPEND);

	if (fd >= 0 && write(fd, "a", 1) < 0)
		return -1;
	return close_result(fd);
}

static long op_creat(char **a)
{
	return close_result(open(a[0], O_WRONLY | O_CREAT | O_EXCL, 0644));
}

static long op_trunc(char **a)
{
	return truncate(a[0], 0);
}

static long op_chmod(char **a)
{
	return chmod(a[0], 0640);
}

static long op_chown(char **a)
{
	return lchown(a[0], geteuid(), getegid());
}

static long op_utime(char **a)
{
	return utimensat(AT_FDCWD, a[0], NULL, 0);
}

static long op_setxattr(char **a)
{
	return setxattr(a[0], "user.probe", "x", 1, 0);
}

static long op_rename(char **a)
{
	return rename(a[0], a[1]);
}

static long op_exchange(char **a)
{
	return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE);
}

static long op_link(char **a)
{
	return link(a[0], a[1]);
}

static long op_symlink(char **a)
{
	return symlink(a[0], a[1]);
}

static long op_unlink(char **a)
{
	return unlink(a[0]);
}

static long op_rmdir(char **a)
{
	return rmdir(a[0]);
}

static long op_mkdir(char **a)
{
	return mkdir(a[0], 0755);
}

static long op_mkfifo(char **a)
{
	return mkfifo(a[0], 0644);
}

static long op_mkdev(char **a)
{
	return mknod(a[0], S_IFCHR | 0666, makedev(1, 3));
}

static long op_tmpfile(char **a)
{
	return close_result(open(a[0], O_TMPFILE | O_WRONLY, 0644));
}

static long op_mmapwrite(char **a)
{
	int fd = open(a[0], O_RDWR);
	char *map;

	if (fd < 0)
		return fd;
	map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	*map = 'm';
	return close(fd);
}

/* Set-id bits by every call that can give them. */
static long op_setuid_chmod(char **a)
{
	return chmod(a[0], 04755);
}

static long op_setgid_chmod(char **a)
{
	return chmod(a[0], 02755);
}

static long op_setuid_fchmod(char **a)
{
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? fd : fchmod(fd, 04755);
}

static long op_setuid_fchmodat2(char **a)
{
	return syscall(452, AT_FDCWD, a[0], 04755, 0);
}

static long op_setuid_open(char **a)
{
	return close_result(open(a[0], O_CREAT | O_EXCL | O_WRONLY, 04755));
}

static long op_setuid_creat(char **a)
{
	return close_result(creat(a[0], 04755));
}

static long op_setuid_mknod(char **a)
{
	return mknod(a[0], S_IFREG | 04755, 0);
}

static long op_setuid_tmpfile(char **a)
{
	return close_result(open(a[0], O_TMPFILE | O_WRONLY, 04755));
}

static long op_setuid_mkdir(char **a)
{
	return mkdir(a[0], 04755);
}

static long op_setuid_high(char **a)
{
	return syscall(SYS_chmod, a[0], (UINT64_C(1) << 32) | 04755);
}

/* Sockets; numbers as words. */
static long op_socket(char **a)
{
	return close_result(socket(atoi(a[0]), atoi(a[1]), atoi(a[2])));
}

static long op_socket_high(char **a)
{
	return close_result((int)syscall(SYS_socket,
					 (UINT64_C(1) << 32) | AF_UNIX,
					 strtoul(a[0], NULL, 0), 0));
}

static long op_socketpair(char **a)
{
	int pair[2];

	return socketpair(AF_UNIX, atoi(a[0]), 0, pair);
}

static long op_connect(char **a)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return fd;
	strncpy(address.sun_path, a[0], sizeof(address.sun_path) - 1);
	return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

/* A datagram pair's end can send to a named socket, where it can be made. */
static long op_pairsend(char **a)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return -1;
	strncpy(address.sun_path, a[0], sizeof(address.sun_path) - 1);
	return sendto(pair[0], "x", 1, 0, (struct sockaddr *)&address,
		      sizeof(address));
}

static long op_unshare(char **a)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare((int)strtoul(a[0], NULL, 0)) ? errno : 0);
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return errno ? -1 : 0;
}

static long op_clone(char **a)
{
	unsigned long flags = strtoul(a[0], NULL, 0);
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static long op_clone3(char **a)
{
	uint64_t args[8] = { 0 };
	long pid;

	(void)a;
	args[4] = SIGCHLD;
	pid = syscall(SYS_clone3, args, sizeof(args));
	if (pid == 0)
		_exit(0);
	return pid;
}

static long op_setns(char **a)
{
	int fd = open(a[0], O_RDONLY);

	return fd < 0 ? fd : setns(fd, 0);
}

static long op_chroot(char **a)
{
	return chroot(a[0]);
}

static long op_bindmount(char **a)
{
	return mount(a[0], a[1], NULL, MS_BIND, NULL);
}

static long op_remount(char **a)
{
	return mount(NULL, a[0], NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long op_umount(char **a)
{
	return umount2(a[0], MNT_DETACH);
}

static long op_pivot(char **a)
{
	return syscall(SYS_pivot_root, a[0], a[0]);
}

/* Any call by number, with zeros: is it refused before its arguments count? */
static long op_call(char **a)
{
	return syscall(atoi(a[0]), 0, 0, 0, 0, 0, 0);
}

static long op_ioctl(char **a)
{
	char byte = 'x';

	return syscall(SYS_ioctl, 0, strtoul(a[0], NULL, 0), &byte);
}

static long op_ptrace(char **a)
{
	return ptrace(PTRACE_ATTACH, atoi(a[0]), NULL, NULL);
}

static long op_vmread(char **a)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)0x400000, 1 };

	return process_vm_readv(atoi(a[0]), &local, 1, &remote, 1, 0);
}

static long op_kill(char **a)
{
	return kill(atoi(a[0]), atoi(a[1]));
}

static long op_keyctl(char **a)
{
	(void)a;
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING,
		       0);
}

static long op_handle(char **a)
{
	struct {
		struct file_handle head;
		char room[128];
	} handle = { .head.handle_bytes = 128 };
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, a[0], &handle.head, &mount_id, 0))
		return -1;
	return close_result(
		open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
}

static const struct {
	const char *name;
	int words;
	operation run;
} operations[] = {
	{ "read", 1, op_read },
	{ "list", 1, op_list },
	{ "show", 1, op_show },
	{ "stat", 1, op_stat },
	{ "write", 1, op_write },
	{ "wopen", 1, op_wopen },
	{ "append", 1, op_append },
	{ "creat", 1, op_creat },
	{ "trunc", 1, op_trunc },
	{ "chmod", 1, op_chmod },
	{ "chown", 1, op_chown },
	{ "utime", 1, op_utime },
	{ "setxattr", 1, op_setxattr },
	{ "rename", 2, op_rename },
	{ "exchange", 2, op_exchange },
	{ "link", 2, op_link },
	{ "symlink", 2, op_symlink },
	{ "unlink", 1, op_unlink },
	{ "rmdir", 1, op_rmdir },
	{ "mkdir", 1, op_mkdir },
	{ "mkfifo", 1, op_mkfifo },
	{ "mkdev", 1, op_mkdev },
	{ "tmpfile", 1, op_tmpfile },
	{ "mmapwrite", 1, op_mmapwrite },
	{ "setuid_chmod", 1, op_setuid_chmod },
	{ "setgid_chmod", 1, op_setgid_chmod },
	{ "setuid_fchmod", 1, op_setuid_fchmod },
	{ "setuid_fchmodat2", 1, op_setuid_fchmodat2 },
	{ "setuid_open", 1, op_setuid_open },
	{ "setuid_creat", 1, op_setuid_creat },
	{ "setuid_mknod", 1, op_setuid_mknod },
	{ "setuid_tmpfile", 1, op_setuid_tmpfile },
	{ "setuid_mkdir", 1, op_setuid_mkdir },
	{ "setuid_high", 1, op_setuid_high },
	{ "socket", 3, op_socket },
	{ "socket_high", 1, op_socket_high },
	{ "socketpair", 1, op_socketpair },
	{ "connect", 1, op_connect },
	{ "pairsend", 1, op_pairsend },
	{ "unshare", 1, op_unshare },
	{ "clone", 1, op_clone },
	{ "clone3", 0, op_clone3 },
	{ "setns", 1, op_setns },
	{ "chroot", 1, op_chroot },
	{ "bindmount", 2, op_bindmount },
	{ "remount", 1, op_remount },
	{ "umount", 1, op_umount },
	{ "pivot", 1, op_pivot },
	{ "call", 1, op_call },
	{ "ioctl", 1, op_ioctl },
	{ "ptrace", 1, op_ptrace },
	{ "vmread", 1, op_vmread },
	{ "kill", 2, op_kill },
	{ "keyctl", 0, op_keyctl },
	{ "handle", 1, op_handle },
};

static int run_one(char **argv, int left)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		int words = operations[i].words;

		if (strcmp(operations[i].name, argv[0]))
			continue;
		if (left < words + 1)
			break;
		errno = 0;
		printf("%s", argv[0]);
		for (int word = 1; word <= words; word++)
			printf(" %s", argv[word]);
		fflush(stdout);
		printf(": %s\n", operations[i].run(argv + 1) < 0
					 ? strerrorname_np(errno)
					 : "ok");
		fflush(stdout);
		return words + 1;
	}
	fprintf(stderr, "probe: bad operation %s\n", argv[0]);
	exit(2);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc;)
		i += run_one(argv + i, argc - i);
	return 0;
}
