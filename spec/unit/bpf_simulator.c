/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a seccomp program as the kernel would, for any architecture. */
#include "spec/unit/bpf_simulator.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, unsigned int code)
{
	fprintf(stderr, "bpf_simulate: %s (code 0x%x)\n", what, code);
	abort();
}

static unsigned int load(const struct seccomp_data *data, unsigned int offset)
{
	unsigned int word;

	if (offset % 4 || offset + 4 > sizeof(*data))
		die("load outside the data", offset);
	memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static unsigned int alu(unsigned int code, unsigned int a, unsigned int b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_RSH:
		return a >> b;
	case BPF_LSH:
		return a << b;
	}
	die("arithmetic", code);
	return 0;
}

static bool condition(unsigned int code, unsigned int a, unsigned int b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSET:
		return (a & b) != 0;
	}
	die("condition", code);
	return false;
}

unsigned int bpf_simulate(const struct sock_fprog *program,
			  const struct seccomp_data *data)
{
	unsigned int a = 0, x = 0, memory[BPF_MEMWORDS] = { 0 };

	for (unsigned int at = 0; at < program->len; at++) {
		const struct sock_filter *op = &program->filter[at];
		unsigned int operand = BPF_SRC(op->code) == BPF_X ? x : op->k;

		switch (BPF_CLASS(op->code)) {
		case BPF_LD:
			a = BPF_MODE(op->code) == BPF_ABS   ? load(data, op->k)
			    : BPF_MODE(op->code) == BPF_MEM ? memory[op->k % 16]
							    : op->k;
			break;
		case BPF_LDX:
			x = BPF_MODE(op->code) == BPF_MEM ? memory[op->k % 16]
							  : op->k;
			break;
		case BPF_ST:
			memory[op->k % 16] = a;
			break;
		case BPF_STX:
			memory[op->k % 16] = x;
			break;
		case BPF_ALU:
			a = alu(op->code, a, operand);
			break;
		case BPF_JMP:
			if (BPF_OP(op->code) == BPF_JA)
				at += op->k;
			else
				at += condition(op->code, a, operand) ? op->jt
								      : op->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(op->code) == BPF_A ? a : op->k;
		case BPF_MISC:
			if (BPF_MISCOP(op->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	die("ran off the end", 0);
	return 0;
}
