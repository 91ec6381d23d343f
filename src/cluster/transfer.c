/* What moves KV: fetches of cached blocks to a prefill instance, and hand-overs to decode nodes. */
#include "cluster/state.h"

double mc_cluster_broken(struct mc_cluster *c, uint32_t transfer, double bytes)
{
	c->broken++;
	return bytes - mc_fabric_arrived(c->fabric, transfer);
}

static void part_over(struct mc_fetch *part)
{
	struct mc_flight *f = part->flight;
	struct mc_cluster *c = f->cluster;
	uint32_t home = mc_view_home(&c->view, part->part.node);

	mc_cluster_report_change(c, home,
				 &(struct mc_node_change){.sends = -(home != f->row->prefill),
							  .reads = -(home != part->part.node)});
	mc_pool_release(mc_cluster_pool(c, part->part.node), &part->lease);
	f->fetches--;
	mc_cluster_roles_eased(c);
}

/* A part is here. When all are, prefill can go on. */
static void on_fetched(void *arg, uint32_t transfer)
{
	struct mc_fetch *part = arg;
	struct mc_flight *f = part->flight;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;
	uint32_t depth = f->hit < f->lease.held ? f->hit : f->lease.held;

	(void)transfer;
	part_over(part);
	if (f->fetches)
		return;
	if (f->failed_at != MC_NONE) {
		mc_cluster_unfetched(c, f);
		return;
	}
	if (depth > f->local)
		mc_pool_commit(c->pool[row->prefill], &f->lease, f->local, depth);
	if (f->hit > f->local)
		mc_prefill_fetched(&c->prefill[row->prefill], &f->prefill);
	else /* all was asked for in vain: face.c */
		mc_prefill_unfetched(&c->prefill[row->prefill], &f->prefill);
	mc_cluster_report(c, row->prefill);
}

static double part_bytes(const struct mc_fetch *part)
{
	const struct mc_cluster *c = part->flight->cluster;
	const struct mc_prompt prompt = {.tokens = part->flight->row->input};

	return mc_view_span_tokens(&c->view, &prompt, part->part.from, part->part.to) * c->cost->kv_bytes;
}

/* One end is lost. Where it is the source, this end will know as soon as the Conductor does. */
static void on_unfetched(void *arg, uint32_t transfer)
{
	struct mc_fetch *part = arg;
	struct mc_flight *f = part->flight;
	struct mc_cluster *c = f->cluster;
	uint32_t home = mc_view_home(&c->view, part->part.node);
	double left = mc_cluster_broken(c, transfer, part_bytes(part));

	part_over(part);
	c->crossed -= ((home != f->row->prefill) + (home != part->part.node)) * left;
	c->result->fetched_bytes -= home != f->row->prefill ? left : 0;
	c->result->ssd_read_bytes -= home != part->part.node ? left : 0;
	if (mc_cluster_dead(c, f->row->prefill))
		return;
	f->failed_at = part->part.from < f->failed_at ? part->part.from : f->failed_at;
	f->failed_node = home;
}

static void fetch_part(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
		       const struct mc_part *part)
{
	struct mc_fetch *p = &f->fetch[f->parts++];
	uint32_t home = mc_view_home(&c->view, part->node);
	struct mc_transfer_spec spec = {
	    .from = home, .to = f->row->prefill, .done = on_fetched, .failed = on_unfetched, .arg = p};
	double startup = 0;

	*p = (struct mc_fetch){f, *part, {MC_NONE, 0}};
	if (part->from < part->to) /* else it is asked for in vain: face.c */
		p->lease = mc_pool_pin(mc_cluster_pool(c, part->node), prompt->block, part->to);
	spec.bytes = part_bytes(p);
	f->fetches++;
	if (home != part->node) {
		spec.extra[spec.n_extra++] = c->ssd[home].link_device;
		startup += part->from < part->to ? c->cost->ssd_latency_s : 0;
		c->view.node[home].reads++;
		c->result->ssd_read_bytes += spec.bytes;
	}
	if (home != f->row->prefill) {
		startup += c->cost->net_startup_s;
		c->view.node[home].sends++;
		c->result->fetched_bytes += spec.bytes;
	}
	spec.startup = mc_time_from_s(startup);
	c->crossed += ((home != f->row->prefill) + spec.n_extra) * spec.bytes;
	mc_fabric_start(c->fabric, &spec);
}

void mc_cluster_fetch(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
		      const struct mc_score *placed)
{
	for (uint32_t k = 0; k < placed->n_parts; k++)
		fetch_part(c, f, prompt, &placed->part[k]);
}

void mc_cluster_stream_over(struct mc_cluster *c, struct mc_flight *f)
{
	struct mc_node_change change = {.sends = 1, .streams = -1, .stream_bytes_per_s = -f->stream};

	if (!f->stream)
		return;
	mc_cluster_report_change(c, f->row->prefill, &change);
	f->stream = 0;
}

/* Its hand-over begins. */
static void sending(struct mc_cluster *c, struct mc_flight *f, double bytes, mc_time produce_end)
{
	struct mc_node_change change = {.sends = 1};
	mc_time takes = produce_end - c->loop.now;

	if (takes > 0) {
		f->stream = 1 + (int64_t)(bytes / mc_time_to_s(takes));
		change = (struct mc_node_change){.streams = 1, .stream_bytes_per_s = f->stream};
	}
	mc_cluster_report_change(c, f->row->prefill, &change);
}

/* All KV of the prompt is at the decode node, in its DRAM, and stays there as long as the request needs it
 * and the pool keeps it. */
static void on_handover(void *arg, uint32_t transfer)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	struct mc_row *row = f->row;
	uint32_t node = mc_view_decode_node(&c->view, row->decode);

	(void)transfer;
	f->transfer = MC_NONE;
	row->handover_end = c->loop.now;
	mc_cluster_stream_over(c, f);
	mc_cluster_report_change(c, row->prefill, &(struct mc_node_change){.sends = -1});
	if (f->decode_lease.held > f->sent_from)
		mc_pool_commit(c->pool[node], &f->decode_lease, f->sent_from, f->decode_lease.held);
	if (c->write_through)
		mc_cluster_ssd_store(c, node, c->trace->block + c->trace->first[row - c->result->row],
				     f->decode_lease.held);
	if (!mc_cluster_admit_arrived(c, f))
		return;
	f->stage = MC_STAGE_DECODE;
	mc_cluster_roles_eased(c);
	mc_pool_release(c->pool[row->prefill], &f->lease);
	mc_cluster_report_decode(c, row, &(struct mc_decode_change){.running = 1});
	mc_cluster_admit_joins(c, f, c->loop.now);
	mc_decode_arrive(&c->decode[row->decode], &f->decode);
}

/* One end is lost; what becomes of the request is decided when the Conductor knows (recover.c). */
static void on_not_handed_over(void *arg, uint32_t transfer)
{
	struct mc_flight *f = arg;
	struct mc_cluster *c = f->cluster;
	double left = mc_cluster_broken(c, transfer, f->sending);

	f->transfer = MC_NONE;
	mc_cluster_stream_over(c, f);
	mc_cluster_report_change(c, f->row->prefill, &(struct mc_node_change){.sends = -1});
	c->crossed -= left;
	c->result->handover_bytes -= left;
}

void mc_cluster_reserve(struct mc_cluster *c, struct mc_flight *f)
{
	const struct mc_trace *t = c->trace;
	int64_t request = f->row - c->result->row;
	uint32_t node = mc_view_decode_node(&c->view, f->row->decode);

	if (c->pool[node] && c->caching)
		f->decode_lease = mc_cluster_acquire(c, node, t->block + t->first[request],
						     (uint32_t)mc_trace_blocks(t, request));
	mc_cluster_report_decode(c, f->row, &(struct mc_decode_change){.announced = 1});
	mc_decode_announce(&c->decode[f->row->decode], &f->decode);
}

/* Tokens that the decode node lacks. Blocks that another hand-over is still bringing are sent again: the
 * sender knows what is there, not what will be. */
static uint32_t lacking(const struct mc_cluster *c, struct mc_flight *f)
{
	const struct mc_pool *pool = c->pool[mc_view_decode_node(&c->view, f->row->decode)];
	struct mc_prompt prompt = {.tokens = f->row->input};

	prompt.n_blocks = (uint32_t)mc_trace_blocks(c->trace, f->row - c->result->row);
	f->sent_from = f->decode_lease.held ? mc_pool_resident(pool, &f->decode_lease) : 0;
	return mc_view_span_tokens(&c->view, &prompt, f->sent_from, prompt.n_blocks);
}

void mc_cluster_hand_over(struct mc_cluster *c, struct mc_flight *f, mc_time produce_end)
{
	double bytes = lacking(c, f) * c->cost->kv_bytes;
	struct mc_transfer_spec spec = {
	    .from = f->row->prefill,
	    .to = mc_view_decode_node(&c->view, f->row->decode),
	    .bytes = bytes,
	    .startup = mc_time_from_s(c->cost->net_startup_s),
	    .produce_end = produce_end,
	    .tail = produce_end ? bytes / (double)c->cost->shape.layers : 0,
	    .done = on_handover,
	    .failed = on_not_handed_over,
	    .arg = f,
	};

	f->sending = bytes;
	c->result->handover_bytes += bytes;
	c->crossed += bytes;
	sending(c, f, bytes, produce_end);
	f->transfer = mc_fabric_start(c->fabric, &spec);
}
