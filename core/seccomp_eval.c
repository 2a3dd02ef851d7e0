/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as a seccomp program does, for who serves what it notifies. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/seccomp.h"

#define REFUSED (SECCOMP_RET_ERRNO | EPERM)

static bool holds(const struct sock_filter *op, uint32_t a, bool *known)
{
	switch (op->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == op->k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > op->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= op->k;
	case BPF_JMP | BPF_JSET | BPF_K:
		return a & op->k;
	}
	*known = false;
	return false;
}

uint32_t seccomp_eval(const struct sock_fprog *program,
		      const struct seccomp_data *data)
{
	const char *bytes = (const char *)data;
	bool known = true;
	uint32_t a = 0;

	for (size_t at = 0; known && at < program->len; at++) {
		const struct sock_filter *op = &program->filter[at];

		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (op->k > sizeof(*data) - sizeof(a))
				return REFUSED;
			memcpy(&a, bytes + op->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			break;
		case BPF_JMP | BPF_JA:
			at += op->k;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			at += holds(op, a, &known) ? op->jt : op->jf;
		}
	}
	return REFUSED;
}
