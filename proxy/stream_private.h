/* SPDX-License-Identifier: Apache-2.0 */
/* What stream.c and stream_tls.c share. */
#ifndef SRT_PROXY_STREAM_PRIVATE_H
#define SRT_PROXY_STREAM_PRIVATE_H

#include "proxy/stream.h"

/** stream_wake() - have the owner look */
void stream_wake(struct stream *stream);

/** stream_show() - hand input to the owner; what it leaves is kept */
void stream_show(struct stream *stream, struct proxy_text data);

/** stream_take_fresh() - keep what the owner has not consumed */
void stream_take_fresh(struct stream *stream);

/** stream_account() - keep the proxy's count of what all buffers hold */
void stream_account(struct stream *stream);

/** stream_try_write() - how much the kernel took; errors are noted */
size_t stream_try_write(struct stream *stream, struct proxy_text data);

#endif
