/* SPDX-License-Identifier: Apache-2.0 */
/* What an SSH client is told that may not go where it wants. */
#ifndef SRT_PROXY_SSH_H
#define SRT_PROXY_SSH_H

#include "proxy/pbuf.h"

enum { SSH_PORT = 22, SSH_REASON_MAX = 400 };

/**
 * ssh_refuse() - an identification and an SSH_MSG_DISCONNECT
 * @reason: its description; control bytes become blanks, long ones are cut
 *
 * Before the key exchange packets are neither encrypted nor authenticated
 * (RFC 4253 4.2, 6, 11.1), so nobody needs to be a server to say so much;
 * OpenSSH prints it.
 */
void ssh_refuse(struct pbuf *out, const char *reason);

#endif
