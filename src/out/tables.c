#include "out/tables.h"

#include <inttypes.h>

#include "cluster/cluster.h"

static void text(FILE *out, const char *s)
{
	putc(',', out);
	fputs(s, out);
}

static void whole(FILE *out, int64_t v)
{
	fprintf(out, ",%" PRId64, v);
}

static void node(FILE *out, uint32_t v)
{
	if (v == MC_NONE)
		putc(',', out);
	else
		fprintf(out, ",%" PRIu32, v);
}

/* Nanoseconds as seconds, exactly; nothing when !happened. */
static void when(FILE *out, bool happened, mc_time t)
{
	uint64_t ns = t < 0 ? 0 - (uint64_t)t : (uint64_t)t;

	if (!happened)
		putc(',', out);
	else
		fprintf(out, ",%s%" PRIu64 ".%09" PRIu64, t < 0 ? "-" : "", ns / 1000000000, ns % 1000000000);
}

static void source(FILE *out, const struct mc_result *r, uint32_t node)
{
	char name[32];

	text(out, node == MC_NONE ? "" : mc_cluster_node_name(r, node, name, sizeof name));
}

static void row(FILE *out, const struct mc_result *all, int64_t i)
{
	const struct mc_row *r = &all->row[i];
	bool placed = r->prefill != MC_NONE, started = r->prefill_start >= 0, first = r->prefill_end >= 0;
	bool over = first && r->handover_end >= 0 && r->output > 1, done = r->outcome == MC_COMPLETED;

	fprintf(out, "%" PRId64, i);
	when(out, r->arrival >= 0, r->arrival);
	when(out, r->decided >= 0, r->decided);
	node(out, r->prefill);
	node(out, r->decode);
	source(out, all, r->source);
	source(out, all, r->ssd_source);
	whole(out, r->input);
	whole(out, r->output);
	whole(out, r->local_hit);
	whole(out, r->remote_hit);
	whole(out, r->ssd_hit);
	when(out, started, r->prefill_start - r->decided);
	when(out, started, r->fetch_wait);
	fprintf(out, first ? ",%.9f,%.9f" : ",,", r->compute_s, r->load_s);
	when(out, started, r->prefill_start);
	when(out, first, r->prefill_end);
	when(out, first, r->prefill_end - r->arrival);
	when(out, placed, r->predicted_ttft);
	when(out, over, r->handover_end - r->prefill_end);
	when(out, done && r->output > 1, r->tbt);
	when(out, done, r->end);
	when(out, done, r->end - r->arrival);
	text(out, mc_outcome_name((enum mc_outcome)r->outcome));
	text(out, r->outcome == MC_REJECTED ? mc_refusal_name((enum mc_refusal)r->refusal) : "");
	text(out, r->counted ? "1" : "0");
	fprintf(out, ",%" PRIu32 ",%" PRIu32, r->retries, r->attempts);
	text(out, r->class < all->classes.n ? all->classes.at[r->class].name : "");
	putc('\n', out);
}

void mc_out_requests_csv(FILE *out, const struct mc_result *r)
{
	fputs(
	    "request,arrival_s,decided_s,prefill_instance,decode_node,source,ssd_source,input_tokens,output_"
	    "tokens,"
	    "local_hit_tokens,remote_hit_tokens,ssd_hit_tokens,queue_s,fetch_wait_s,compute_s,load_s,"
	    "prefill_start_s,"
	    "first_token_s,ttft_s,predicted_ttft_s,handover_s,tbt_s,end_s,e2e_s,outcome,refusal,counted,"
	    "retries,attempts,class\n",
	    out);
	for (int64_t i = 0; i < r->n_rows; i++)
		row(out, r, i);
}

void mc_out_timeseries_csv(FILE *out, const struct mc_result *r)
{
	fputs("at_s,prefill_queued,prefill_running,prefill_wait_mean_s,prefill_wait_max_s,decode_running,"
	      "decode_waiting,"
	      "decode_batch_max,decode_iteration_max_s,decode_kv_ratio_max,link_ratio_max,link_max,input_"
	      "tokens,hit_tokens,"
	      "hit_ratio,pool_used_blocks,pool_blocks,ssd_used_blocks,ssd_blocks,vram_reserved_tokens,vram_"
	      "active_tokens,prefill_down,decode_down,prefill_load,decode_load,clients_held,clients_backing_"
	      "off,prefill_nodes,decode_nodes\n",
	      out);
	for (size_t i = 0; i < r->samples.n; i++) {
		const struct mc_sample *s = &r->samples.at[i];

		fprintf(out, "%" PRId64 ".%09" PRId64, s->at / MC_NS_PER_S, s->at % MC_NS_PER_S);
		whole(out, s->prefill_queued);
		whole(out, s->prefill_running);
		when(out, true, s->prefill_wait_mean);
		when(out, true, s->prefill_wait_max);
		whole(out, s->decode_running);
		whole(out, s->decode_waiting);
		whole(out, s->decode_batch_max);
		when(out, true, s->decode_iteration_max);
		fprintf(out, ",%.6f,%.6f,%s", s->decode_kv_ratio_max, s->link_ratio_max,
			s->link_max < r->n_links ? r->link_name[s->link_max] : "");
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%.6f,%" PRIu64 ",%" PRIu64, s->input_tokens,
			s->hit_tokens, s->input_tokens ? (double)s->hit_tokens / (double)s->input_tokens : 0,
			s->pool_used_blocks, s->pool_blocks);
		fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%u,%u,%.6f,%.6f",
			s->ssd_used_blocks, s->ssd_blocks, s->vram_reserved, s->vram_active, s->prefill_down,
			s->decode_down, s->prefill_load, s->decode_load);
		fprintf(out, ",%" PRId64 ",%" PRId64 ",%u,%u\n", s->held, s->backing_off, s->prefill_nodes,
			s->decode_nodes);
	}
}

void mc_out_replicas_csv(FILE *out, const struct mc_replicas *r)
{
	fputs("at_s,rank,references,replicas\n", out);
	for (size_t i = 0; i < r->at.n; i++)
		for (uint32_t k = 0; k < r->n; k++) {
			fprintf(out, "%" PRId64 ".%09" PRId64, r->at.at[i] / MC_NS_PER_S,
				r->at.at[i] % MC_NS_PER_S);
			fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 "\n", r->block[k].rank,
				r->block[k].uses, r->copies.at[i * r->n + k]);
		}
}
