/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program as a container's default profile would let it (Docker's, of
 * moby's profiles/seccomp): no namespaces, no mounts, no clone3, and nothing
 * that takes CAP_SYS_PTRACE; of root's capabilities its default set.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (UINT64_C(1) << (cap))

static const uint64_t kept =
	BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) |
	BIT(CAP_FOWNER) | BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) | BIT(CAP_SETGID) |
	BIT(CAP_SETUID) | BIT(CAP_SETFCAP) | BIT(CAP_SETPCAP) |
	BIT(CAP_NET_BIND_SERVICE) | BIT(CAP_SYS_CHROOT) | BIT(CAP_KILL) |
	BIT(CAP_AUDIT_WRITE);

static const char *const refused[] = { "unshare",	  "setns",
				       "mount",		  "umount2",
				       "pivot_root",	  "open_tree",
				       "move_mount",	  "fsopen",
				       "fsconfig",	  "fsmount",
				       "fspick",	  "mount_setattr",
				       "pidfd_getfd",	  "kcmp",
				       "process_madvise", "bpf",
				       "keyctl",	  "add_key",
				       "request_key",	  "userfaultfd",
				       "syslog",	  "perf_event_open",
				       "fanotify_init",	  "sethostname",
				       "setdomainname" };

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	if (geteuid())
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int cap = 0; cap < 64; cap++)
		if (!(kept & BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			break;
	data[0].permitted = data[0].effective = (uint32_t)kept;
	data[1].permitted = data[1].effective = (uint32_t)(kept >> 32);
	return (int)syscall(SYS_capset, &header, data);
}

static int load_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	static const uint64_t namespaces[] = { CLONE_NEWNS,    CLONE_NEWUTS,
					       CLONE_NEWIPC,   CLONE_NEWUSER,
					       CLONE_NEWPID,   CLONE_NEWNET,
					       CLONE_NEWCGROUP };
	int error = filter ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < sizeof(refused) / sizeof(*refused);
	     i++) {
		int call = seccomp_syscall_resolve_name(refused[i]);

		if (call != __NR_SCMP_ERROR)
			error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
						 call, 0);
	}
	for (size_t i = 0; !error && i < 7; i++)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
					 SCMP_SYS(clone), 1,
					 SCMP_A0(SCMP_CMP_MASKED_EQ,
						 namespaces[i], namespaces[i]));
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
					 SCMP_SYS(clone3), 0);
	return error ? error : seccomp_load(filter);
}

int main(int argc, char **argv)
{
	/* A filter needs either this privilege or no_new_privs. */
	if (argc < 2 || (geteuid() && drop_capabilities()) || load_filter() ||
	    (!geteuid() && drop_capabilities()))
		return 99;
	execvp(argv[1], argv + 1);
	fprintf(stderr, "container: %s: %s\n", argv[1], strerror(errno));
	return 99;
}
