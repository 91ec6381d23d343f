#include "out/flat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void walk(const char *prefix, const json_t *v, struct mc_flat_list *list)
{
	struct mc_flat f = {.value = NAN};
	const char *key;
	json_t *child;

	if (json_is_object(v)) {
		json_object_foreach((json_t *)v, key, child)
		{
			char path[96];

			snprintf(path, sizeof path, "%s.%s", prefix, key);
			walk(path, child, list);
		}
		return;
	}
	if (!json_is_number(v) && !json_is_null(v))
		return;
	snprintf(f.key, sizeof f.key, "%s", prefix);
	if (json_is_number(v))
		f.value = json_number_value(v);
	f.whole = json_is_integer(v);
	mc_vec_push(list, f);
}

void mc_flat_from_json(const json_t *result, struct mc_flat_list *list)
{
	/* Not metrics: what went into the run. */
	static const char *const inputs[] = {"schema", "kind",  "version", "name",
					     "seed",   "trace", "scenario", "times"};
	const char *key;
	json_t *child;

	json_object_foreach((json_t *)result, key, child)
	{
		bool input = false;

		for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
			input |= !strcmp(key, inputs[i]);
		if (!input)
			walk(key, child, list);
	}
}

const struct mc_flat *mc_flat_find(const struct mc_flat_list *list, const char *key)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->at[i].key, key))
			return &list->at[i];
	return NULL;
}

enum mc_better mc_flat_better(const char *key)
{
	static const char *const low[] = {"ttft_s",
					  "handover_s",
					  "ttft_handover_s",
					  "tbt_s",
					  "itl_s",
					  "tpot_s",
					  "e2e_s",
					  "prefill.compute_s_mean",
					  "prefill.gpu_time_s_mean",
					  "prefill.queue_s_mean",
					  "prefill.fetch_wait_s_mean",
					  "prefill.prediction_error_s_mean",
					  "prefill.wasted",
					  "prefill.wasted_s",
					  "requests.rejected",
					  "requests.failed",
					  "requests.unfinished",
					  "rejected_by"};
	static const char *const high[] = {"requests.effective", "requests.completed",  "slo.ttft_met",
					   "slo.tbt_met",        "slo.effective_ratio", "cache.hit_ratio",
					   "cache.hit_tokens",   "throughput"};
	size_t n = strlen(key);

	if (n > 6 && !strcmp(key + n - 6, ".count"))
		return MC_BETTER_NEITHER;
	for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
		size_t k = strlen(low[i]);

		if (!strncmp(key, low[i], k) && (!key[k] || key[k] == '.'))
			return MC_BETTER_LOW;
	}
	for (size_t i = 0; i < sizeof high / sizeof *high; i++) {
		size_t k = strlen(high[i]);

		if (!strncmp(key, high[i], k) && (!key[k] || key[k] == '.'))
			return MC_BETTER_HIGH;
	}
	return MC_BETTER_NEITHER;
}
