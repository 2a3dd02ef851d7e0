/* SPDX-License-Identifier: Apache-2.0 */
/* All that programs inside send elsewhere leads to a port of ours. */
#include "core/redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/netlink.h"
#include "core/network.h"
#include "core/system.h"
#include "core/util.h"

enum { LOOPBACK_INDEX = 1 }; /* lo is a namespace's first device */

#define TABLE "srt"
#define CHAIN "out"

/* Where the headers have the destination (RFC 791, 8200). */
enum { V4_TO = 16, V6_TO = 24 };

/* An expression is a name and attributes, as an element of a rule's list. */
struct expression {
	size_t element;
	size_t data;
};

static struct expression begin(struct netlink *b, const char *name)
{
	struct expression e;

	e.element = netlink_nest(b, NFTA_LIST_ELEM);
	netlink_put_text(b, NFTA_EXPR_NAME, name);
	e.data = netlink_nest(b, NFTA_EXPR_DATA);
	return e;
}

static void end(struct netlink *b, struct expression e)
{
	netlink_unnest(b, e.data);
	netlink_unnest(b, e.element);
}

static void value(struct netlink *b, uint16_t type, const void *data,
		  size_t size)
{
	size_t nest = netlink_nest(b, type);

	netlink_put(b, NFTA_DATA_VALUE, data, size);
	netlink_unnest(b, nest);
}

/* Goes on with the rule only where the register holds @data. */
static void is(struct netlink *b, const void *data, size_t size)
{
	struct expression e = begin(b, "cmp");

	netlink_put_be32(b, NFTA_CMP_SREG, NFT_REG_1);
	netlink_put_be32(b, NFTA_CMP_OP, NFT_CMP_EQ);
	value(b, NFTA_CMP_DATA, data, size);
	end(b, e);
}

static void meta_is(struct netlink *b, enum nft_meta_keys key, uint8_t wanted)
{
	struct expression e = begin(b, "meta");

	netlink_put_be32(b, NFTA_META_DREG, NFT_REG_1);
	netlink_put_be32(b, NFTA_META_KEY, key);
	end(b, e);
	is(b, &wanted, sizeof(wanted));
}

static void is_to(struct netlink *b, uint8_t family, const void *address,
		  size_t size)
{
	struct expression e = begin(b, "payload");

	netlink_put_be32(b, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_put_be32(b, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	netlink_put_be32(b, NFTA_PAYLOAD_OFFSET,
			 family == NFPROTO_IPV4 ? V4_TO : V6_TO);
	netlink_put_be32(b, NFTA_PAYLOAD_LEN, (uint32_t)size);
	end(b, e);
	is(b, address, size);
}

static void accept_it(struct netlink *b)
{
	struct expression e = begin(b, "immediate");
	size_t data, verdict;

	netlink_put_be32(b, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = netlink_nest(b, NFTA_IMMEDIATE_DATA);
	verdict = netlink_nest(b, NFTA_DATA_VERDICT);
	netlink_put_be32(b, NFTA_VERDICT_CODE, NF_ACCEPT);
	netlink_unnest(b, verdict);
	netlink_unnest(b, data);
	end(b, e);
}

/* To the port on 127.0.0.1, or on ::1. */
static void redirect_it(struct netlink *b, uint16_t port)
{
	struct expression e = begin(b, "immediate");

	port = htons(port);
	netlink_put_be32(b, NFTA_IMMEDIATE_DREG, NFT_REG_1);
	value(b, NFTA_IMMEDIATE_DATA, &port, sizeof(port));
	end(b, e);
	e = begin(b, "redir");
	netlink_put_be32(b, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
	end(b, e);
}

static void request(struct netlink *b, enum nf_tables_msg_types type,
		    uint16_t flags)
{
	const struct nfgenmsg header = { .nfgen_family = NFPROTO_INET };

	netlink_begin(b, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type),
		      (uint16_t)(NLM_F_ACK | NLM_F_CREATE | flags), &header,
		      sizeof(header));
}

static void batch_edge(struct netlink *b, uint16_t type)
{
	const struct nfgenmsg header = { .res_id =
						 htons(NFNL_SUBSYS_NFTABLES) };

	netlink_begin(b, type, 0, &header, sizeof(header));
}

static size_t rule_begin(struct netlink *b)
{
	request(b, NFT_MSG_NEWRULE, NLM_F_APPEND);
	netlink_put_text(b, NFTA_RULE_TABLE, TABLE);
	netlink_put_text(b, NFTA_RULE_CHAIN, CHAIN);
	return netlink_nest(b, NFTA_RULE_EXPRESSIONS);
}

/* @size: of the address, or of the front of it that is compared */
static void rule_own(struct netlink *b, uint8_t family, const void *address,
		     size_t size)
{
	size_t list = rule_begin(b);

	meta_is(b, NFT_META_NFPROTO, family);
	is_to(b, family, address, size);
	accept_it(b);
	netlink_unnest(b, list);
}

static void rule_tcp(struct netlink *b, uint16_t port)
{
	size_t list = rule_begin(b);

	meta_is(b, NFT_META_L4PROTO, IPPROTO_TCP);
	redirect_it(b, port);
	netlink_unnest(b, list);
}

static void add_chain(struct netlink *b)
{
	size_t hook;

	request(b, NFT_MSG_NEWTABLE, 0);
	netlink_put_text(b, NFTA_TABLE_NAME, TABLE);
	request(b, NFT_MSG_NEWCHAIN, 0);
	netlink_put_text(b, NFTA_CHAIN_TABLE, TABLE);
	netlink_put_text(b, NFTA_CHAIN_NAME, CHAIN);
	netlink_put_text(b, NFTA_CHAIN_TYPE, "nat");
	hook = netlink_nest(b, NFTA_CHAIN_HOOK);
	netlink_put_be32(b, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
	netlink_put_be32(b, NFTA_HOOK_PRIORITY, (uint32_t)NF_IP_PRI_NAT_DST);
	netlink_unnest(b, hook);
	/* Of a connection the first packet comes here, of what is refused all.
	 */
	netlink_put_be32(b, NFTA_CHAIN_POLICY, NF_DROP);
}

struct addresses {
	struct in_addr v4;
	struct in6_addr v6;
};

static int translate(const struct redirect *redirect,
		     const struct addresses *own)
{
	static const uint8_t loopback = 127; /* 127.0.0.0/8 */
	owned_fd int fd = netlink_open(NETLINK_NETFILTER);
	struct netlink b = { .size = 0 };

	batch_edge(&b, NFNL_MSG_BATCH_BEGIN);
	add_chain(&b);
	rule_own(&b, NFPROTO_IPV4, &loopback, sizeof(loopback));
	rule_own(&b, NFPROTO_IPV4, &own->v4, sizeof(own->v4));
	rule_own(&b, NFPROTO_IPV6, &in6addr_loopback, sizeof(own->v6));
	rule_own(&b, NFPROTO_IPV6, &own->v6, sizeof(own->v6));
	rule_tcp(&b, redirect->port);
	batch_edge(&b, NFNL_MSG_BATCH_END);
	return netlink_talk(&b, fd);
}

static int add_address(int fd, int family, const void *address, size_t size)
{
	const struct ifaddrmsg header = {
		.ifa_family = (uint8_t)family,
		.ifa_prefixlen = (uint8_t)(size * 8),
		.ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
		.ifa_scope = RT_SCOPE_UNIVERSE,
		.ifa_index = LOOPBACK_INDEX,
	};
	struct netlink b = { .size = 0 };

	netlink_begin(&b, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE, &header,
		      sizeof(header));
	netlink_put(&b, IFA_LOCAL, address, size);
	netlink_put(&b, IFA_ADDRESS, address, size);
	return netlink_talk(&b, fd);
}

static int add_default_route(int fd, int family, const void *address,
			     size_t size)
{
	static const uint32_t device = LOOPBACK_INDEX;
	const struct rtmsg header = {
		.rtm_family = (uint8_t)family,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_STATIC,
		.rtm_scope =
			family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_UNICAST,
	};
	struct netlink b = { .size = 0 };

	netlink_begin(&b, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE, &header,
		      sizeof(header));
	netlink_put(&b, RTA_OIF, &device, sizeof(device));
	netlink_put(&b, RTA_PREFSRC, address, size);
	return netlink_talk(&b, fd);
}

/* Not compiled in, switched off at boot, or by sysctl(8): no address then, and
 * so no route from it. */
static bool is_no_ipv6(int error)
{
	return error == -EAFNOSUPPORT || error == -EOPNOTSUPP ||
	       error == -EACCES || error == -EINVAL;
}

static int read_addresses(const struct redirect *redirect,
			  struct addresses *out)
{
	return inet_pton(AF_INET, redirect->v4, &out->v4) == 1 &&
			       inet_pton(AF_INET6, redirect->v6, &out->v6) == 1
		       ? 0
		       : -EINVAL;
}

int redirect_prepare(const struct redirect *redirect)
{
	owned_fd int fd = netlink_open(NETLINK_ROUTE);
	struct addresses own;
	int error = read_addresses(redirect, &own);

	if (!error)
		error = add_address(fd, AF_INET, &own.v4, sizeof(own.v4));
	if (error)
		return error;
	error = add_address(fd, AF_INET6, &own.v6, sizeof(own.v6));
	return is_no_ipv6(error) ? 0 : error;
}

int redirect_probe(void)
{
	const struct nfgenmsg header = { .nfgen_family = NFPROTO_INET };
	owned_fd int fd = netlink_open(NETLINK_NETFILTER);
	struct netlink b = { .size = 0 };
	int error;

	if (sys_missing("nftables"))
		return -EPROTONOSUPPORT;
	netlink_begin(&b, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE,
		      NLM_F_ACK, &header, sizeof(header));
	netlink_put_text(&b, NFTA_TABLE_NAME, TABLE);
	error = netlink_talk(&b, fd);
	/* There is none yet. */
	return error == -ENOENT ? 0 : error;
}

int redirect_lead(const struct redirect *redirect)
{
	owned_fd int fd = netlink_open(NETLINK_ROUTE);
	struct addresses own;
	int error = read_addresses(redirect, &own);

	if (!error && sys_missing("nftables"))
		error = -EPROTONOSUPPORT;
	/* First what may be missing: what has no route fails at once. */
	if (!error)
		error = translate(redirect, &own);
	if (!error)
		error = add_default_route(fd, AF_INET, &own.v4, sizeof(own.v4));
	if (error)
		return error;
	error = add_default_route(fd, AF_INET6, &own.v6, sizeof(own.v6));
	return is_no_ipv6(error) ? 0 : error;
}

static int try_here(const struct redirect *redirect)
{
	int error = unshare(CLONE_NEWUSER | CLONE_NEWNET) ? -errno : 0;

	if (!error)
		error = network_up();
	if (!error)
		error = redirect_prepare(redirect);
	return error ? error : redirect_lead(redirect);
}

int redirect_try(const struct redirect *redirect)
{
	int status, error;
	pid_t pid = fork();

	if (pid == 0)
		_exit(-try_here(redirect));
	if (pid < 0)
		return -errno;
	error = sys_reap(pid, &status);
	if (error)
		return error;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}
