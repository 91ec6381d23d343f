/* Queue pairs (reliable connections): made, joined, ended; and what two sides tell each other for it. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "transport/verbs_port.h"
#include "transport/wire.h"

enum {
	VERSION = 1,
	ACK_TIMEOUT = 14, /* 4.096 us * 2^14: 67 ms until a packet is sent again */
	RETRIES = 6,      /* of 7 as the most, which some devices take for ever (Soft-RoCE) */
	MIN_RNR = 12,
};

void mc_verbs_hello_encode(const struct mc_verbs_hello *h, uint8_t out[MC_VERBS_HELLO])
{
	uint8_t *at = out + 32;

	out[0] = VERSION;
	out[1] = h->lanes;
	out[2] = h->mtu;
	out[3] = h->reads_in;
	mc_wire_set(out + 4, h->lid, 2);
	out[6] = h->ethernet;
	out[7] = 0;
	mc_wire_set(out + 8, h->id, 8);
	memcpy(out + 16, h->gid, 16);
	for (size_t i = 0; i < MC_VERBS_LANES; i++, at += 8) {
		mc_wire_set(at, h->lane[i].qpn, 4);
		mc_wire_set(at + 4, h->lane[i].psn, 4);
	}
}

int mc_verbs_hello_decode(struct mc_verbs_hello *h, const uint8_t *at, size_t n, struct mc_err *err)
{
	*h = (struct mc_verbs_hello){0};
	if (n != MC_VERBS_HELLO || at[0] != VERSION)
		return mc_err_set(err, MC_FAIL, "the peer speaks another version of the verbs transport");
	h->lanes = at[1];
	h->mtu = at[2];
	h->reads_in = at[3];
	h->lid = (uint16_t)mc_wire_get(at + 4, 2);
	h->ethernet = at[6];
	h->id = mc_wire_get(at + 8, 8);
	memcpy(h->gid, at + 16, 16);
	for (size_t i = 0; i < MC_VERBS_LANES; i++) {
		h->lane[i].qpn = (uint32_t)mc_wire_get(at + 32 + 8 * i, 4);
		h->lane[i].psn = (uint32_t)mc_wire_get(at + 36 + 8 * i, 4);
		if (h->lane[i].qpn >> 24 || h->lane[i].psn >> 24)
			h->lanes = 0;
	}
	if (!h->lanes || h->lanes > MC_VERBS_LANES || h->mtu < IBV_MTU_256 || h->mtu > IBV_MTU_4096 ||
	    !h->reads_in || h->ethernet > 1)
		return mc_err_set(err, MC_FAIL, "the peer says nonsense of its queue pairs");
	return 0;
}

void mc_verbs_hello_fill(struct mc_verbs_hello *h, const struct mc_port *p, const struct mc_verbs_lane *lane,
			 uint32_t lanes)
{
	const struct mc_verbs_device *d = &p->dev;

	memcpy(h->gid, d->gid, 16);
	h->lid = d->lid;
	h->mtu = (uint8_t)d->mtu;
	h->reads_in = d->reads_in;
	h->ethernet = d->ethernet;
	h->lanes = (uint8_t)lanes;
	for (uint32_t i = 0; i < lanes; i++) {
		h->lane[i].qpn = lane[i].qp->qp_num;
		h->lane[i].psn = lane[i].psn;
	}
}

static int create_one(struct mc_port *p, struct mc_verbs_lane *lane, const struct mc_verbs_qp_want *want,
		      struct mc_err *err)
{
	struct ibv_qp_init_attr init = {
	    .send_cq = want->cq,
	    .recv_cq = want->cq,
	    .qp_type = IBV_QPT_RC,
	    .sq_sig_all = 1,
	    .cap = {.max_send_wr = want->depth ? want->depth : 1,
		    .max_send_sge = 1,
		    .max_recv_wr = 1,
		    .max_recv_sge = 1},
	};
	struct ibv_qp_attr attr = {
	    .qp_state = IBV_QPS_INIT,
	    .port_num = p->number,
	    .qp_access_flags = want->depth ? 0 : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	int rc = mc_auth_random(&lane->psn, sizeof lane->psn, err);

	if (rc)
		return rc;
	lane->psn &= 0xffffff;
	lane->flying = 0;
	lane->qp = ibv_create_qp(p->dev.pd, &init);
	if (!lane->qp)
		return mc_err_errno(err, MC_FAIL, "%s: cannot make a queue pair", p->device);
	errno = ibv_modify_qp(lane->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return errno ? mc_err_errno(err, MC_FAIL, "%s: cannot start a queue pair", p->device) : 0;
}

int mc_verbs_qp_create(struct mc_port *p, struct mc_verbs_lane *lane, const struct mc_verbs_qp_want *want,
		       struct mc_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < want->lanes; i++)
		lane[i].qp = NULL;
	for (uint32_t i = 0; i < want->lanes && !rc; i++)
		rc = create_one(p, lane + i, want, err);
	if (rc)
		mc_verbs_qp_end(lane, want->lanes);
	return rc;
}

int mc_verbs_qp_join(struct mc_port *p, struct mc_verbs_lane *lane, const struct mc_verbs_hello *peer,
		     bool sends, struct mc_err *err)
{
	const struct mc_verbs_device *d = &p->dev;
	uint8_t reads = d->reads_out < peer->reads_in ? d->reads_out : peer->reads_in;

	for (uint32_t i = 0; i < peer->lanes; i++) {
		struct ibv_qp_attr rtr = {
		    .qp_state = IBV_QPS_RTR,
		    .path_mtu = peer->mtu < d->mtu ? peer->mtu : (enum ibv_mtu)d->mtu,
		    .dest_qp_num = peer->lane[i].qpn,
		    .rq_psn = peer->lane[i].psn,
		    .max_dest_rd_atomic = d->reads_in,
		    .min_rnr_timer = MIN_RNR,
		    .ah_attr = {.dlid = peer->lid, .port_num = p->number, .is_global = d->ethernet},
		};
		struct ibv_qp_attr rts = {
		    .qp_state = IBV_QPS_RTS,
		    .sq_psn = lane[i].psn,
		    .timeout = ACK_TIMEOUT,
		    .retry_cnt = RETRIES,
		    .rnr_retry = RETRIES,
		    .max_rd_atomic = reads,
		};

		/* Another subnet's local number means nothing here: then the global one goes along. */
		if (memcmp(peer->gid, d->gid, 8))
			rtr.ah_attr.is_global = 1;
		memcpy(&rtr.ah_attr.grh.dgid, peer->gid, 16);
		rtr.ah_attr.grh.sgid_index = (uint8_t)d->gid_index;
		rtr.ah_attr.grh.hop_limit = 64;
		errno = ibv_modify_qp(lane[i].qp, &rtr,
				      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
		if (!errno && sends)
			errno = ibv_modify_qp(lane[i].qp, &rts,
					      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
		if (errno)
			return mc_err_errno(err, MC_FAIL, "%s: cannot join a queue pair to the peer's",
					    p->device);
	}
	return 0;
}

bool mc_verbs_qp_end(struct mc_verbs_lane *lane, uint32_t lanes)
{
	bool all = true;

	for (uint32_t i = 0; i < lanes; i++) {
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

		if (!lane[i].qp)
			continue;
		/* To the error state first: so that a device that is slow to forget has at least stopped. */
		ibv_modify_qp(lane[i].qp, &attr, IBV_QP_STATE);
		if (!ibv_destroy_qp(lane[i].qp) || !ibv_destroy_qp(lane[i].qp))
			lane[i].qp = NULL;
		else
			all = false;
	}
	return all;
}
