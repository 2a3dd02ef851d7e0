/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a seccomp program as the kernel would, for any architecture. */
#ifndef SRT_SPEC_BPF_SIMULATOR_H
#define SRT_SPEC_BPF_SIMULATOR_H

#include <linux/filter.h>
#include <linux/seccomp.h>

/**
 * bpf_simulate() - what a program answers for one system call
 *
 * Knows the instructions that seccomp(2) allows; any other, or a jump out of
 * the program, ends the test process. Return: SECCOMP_RET_* with its data.
 */
unsigned int bpf_simulate(const struct sock_fprog *program,
			  const struct seccomp_data *data);

#endif
