/* SPDX-License-Identifier: Apache-2.0 */
/* What an SSH client is told that may not go where it wants. */
#include "proxy/ssh.h"

#include <stdint.h>

enum {
	MESSAGE_DISCONNECT = 1,
	HOST_NOT_ALLOWED_TO_CONNECT = 1,
	BLOCK = 8,
	PADDING_MIN = 4,
};

static void add_byte(struct pbuf *out, uint8_t value)
{
	const char byte = (char)value;

	pbuf_add(out, &byte, 1);
}

static void add_number(struct pbuf *out, size_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		add_byte(out, (uint8_t)(value >> shift));
}

void ssh_refuse(struct pbuf *out, const char *reason)
{
	static const char identification[] = "SSH-2.0-srt_lua\r\n";
	size_t size = strnlen(reason, SSH_REASON_MAX);
	/* message, reason code, description, language tag */
	size_t payload = 1 + 4 + 4 + size + 4;
	size_t padding = BLOCK - (4 + 1 + payload) % BLOCK;

	if (padding < PADDING_MIN)
		padding += BLOCK;
	pbuf_add(out, identification, sizeof(identification) - 1);
	add_number(out, 1 + payload + padding);
	add_byte(out, (uint8_t)padding);
	add_byte(out, MESSAGE_DISCONNECT);
	add_number(out, HOST_NOT_ALLOWED_TO_CONNECT);
	add_number(out, size);
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)reason[i];

		add_byte(out, byte < 0x20 || byte == 0x7f ? ' ' : byte);
	}
	add_number(out, 0);
	while (padding--)
		add_byte(out, 0);
}
