/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own seccomp filter. */
#include "core/guard_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "core/seccomp.h"
#include "core/util.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture"
#endif

static const int calls[] = {
	/* serving */
	SYS_ioctl,
	SYS_process_vm_readv,
	SYS_capset,
	SYS_umask,
	/* looking */
	SYS_openat,
	SYS_openat2,
	SYS_close,
	SYS_read,
	SYS_pread64,
	SYS_fcntl,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_fstatfs,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_geteuid,
	SYS_lseek,
#ifdef SYS_readlink
	SYS_readlink,
	SYS_open,
	SYS_stat,
#endif
	/* making */
	SYS_mkdirat,
	SYS_mknodat,
	SYS_symlinkat,
	SYS_linkat,
	SYS_renameat2,
	/* processes that wait */
	SYS_clone,
	SYS_wait4,
	SYS_setitimer,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_gettid,
	SYS_getpid,
	SYS_getppid,
	SYS_prctl,
	SYS_clock_gettime,
	/* memory, and the end */
	SYS_brk,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_sendmsg,
#ifdef __SANITIZE_ADDRESS__
	SYS_write,
	SYS_sigaltstack,
	SYS_sched_yield,
#endif
};

static const int watch_calls[] = {
	SYS_faccessat2,
	SYS_statfs,
	/* answers of the host process */
	SYS_recvmsg,
	SYS_ppoll,
#ifdef SYS_poll
	SYS_poll,
#endif
};

static const int socket_calls[] = {
	SYS_connect,
	SYS_getsockopt,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
};

static unsigned short allow(struct sock_filter *code, const int *list,
			    size_t count)
{
	unsigned short n = 0;

	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)list[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
							 SECCOMP_RET_ALLOW);
	}
	return n;
}

int guard_filter_enter(bool sockets, bool watches)
{
	struct sock_filter
		code[2 * (ARRAY_SIZE(calls) + ARRAY_SIZE(socket_calls) +
			  ARRAY_SIZE(watch_calls)) +
		     6];
	unsigned short n = 0;
	struct sock_fprog program = { .filter = code };

	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						 ARCHITECTURE, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_KILL_PROCESS);
	code[n++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	if (sockets)
		n += allow(code + n, socket_calls, ARRAY_SIZE(socket_calls));
	if (watches)
		n += allow(code + n, watch_calls, ARRAY_SIZE(watch_calls));
	n += allow(code + n, calls, ARRAY_SIZE(calls));
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ERRNO | EPERM);
	program.len = n;
	return seccomp_install(&program);
}
