#include "model/shape.h"

#include <stddef.h>
#include <string.h>

int64_t mc_shape_kv_bytes_per_token(const struct mc_shape *s)
{
	int64_t values = s->kv_lora_rank ? s->kv_lora_rank + s->rope_head_dim : 2 * s->kv_heads * s->head_dim;

	return s->layers * values * s->kv_bytes_per_value;
}

/* Widths of a head's query and key, and of its value. */
static double key_dim(const struct mc_shape *s)
{
	return (double)(s->head_dim + s->rope_head_dim);
}

static double value_dim(const struct mc_shape *s)
{
	return (double)(s->v_head_dim ? s->v_head_dim : s->head_dim);
}

/* Parameters of the matrices of one layer's attention: query, key and value, output. */
static double attention_matrices(const struct mc_shape *s)
{
	double hidden = (double)s->hidden, heads = (double)s->heads;
	double latent = (double)s->kv_lora_rank, q_latent = (double)s->q_lora_rank;
	double query = heads * key_dim(s), kv;

	if (!s->kv_lora_rank)
		kv = 2 * hidden * (double)(s->kv_heads * s->head_dim);
	else
		kv = hidden * (latent + (double)s->rope_head_dim) +
		     latent * heads * ((double)s->head_dim + value_dim(s));
	return (s->q_lora_rank ? q_latent * (hidden + query) : hidden * query) + kv +
	       heads * value_dim(s) * hidden;
}

/* Parameters of the FFNs and routers of all layers, of which a token uses those of `used` experts where a
 * router picks. */
static double ffn_matrices(const struct mc_shape *s, int64_t used)
{
	double hidden = (double)s->hidden, layers = (double)s->layers, dense = (double)s->dense_layers;
	double ffn = 3 * hidden * (double)s->ffn;

	if (!s->experts)
		return layers * ffn;
	return dense * ffn +
	       (layers - dense) * (3 * hidden * (double)((used + s->shared_experts) * s->expert_ffn) +
				   hidden * (double)s->experts);
}

static double layer_matrices(const struct mc_shape *s, int64_t used)
{
	return (double)s->layers * attention_matrices(s) + ffn_matrices(s, used);
}

/* Norms and biases of all layers, and the last norm. */
static double vectors(const struct mc_shape *s)
{
	double bias = s->qkv_bias ? (double)((s->heads + 2 * s->kv_heads) * s->head_dim) : 0;

	return (double)s->layers * ((double)(2 * s->hidden + s->kv_lora_rank + s->q_lora_rank) + bias) +
	       (double)s->hidden;
}

static double table(const struct mc_shape *s)
{
	return (double)s->vocab * (double)s->hidden;
}

double mc_shape_params(const struct mc_shape *s)
{
	return layer_matrices(s, s->experts) + vectors(s) + (s->tied_embeddings ? 1 : 2) * table(s);
}

double mc_shape_active_params(const struct mc_shape *s)
{
	return layer_matrices(s, s->experts_per_token) + vectors(s) + (s->tied_embeddings ? 1 : 2) * table(s);
}

double mc_shape_weight_bytes(const struct mc_shape *s)
{
	return mc_shape_params(s) * (double)s->weight_bytes_per_param;
}

double mc_shape_pass_bytes(const struct mc_shape *s)
{
	/* A tied table is read whole, as the output head. */
	return (mc_shape_active_params(s) - (s->tied_embeddings ? 0 : table(s))) *
	       (double)s->weight_bytes_per_param;
}

double mc_shape_dense_flops_per_token(const struct mc_shape *s)
{
	return 2 * layer_matrices(s, s->experts_per_token);
}

double mc_shape_head_flops(const struct mc_shape *s)
{
	return 2 * table(s);
}

double mc_shape_pair_flops(const struct mc_shape *s)
{
	return 2 * (double)s->layers * (double)s->heads * (key_dim(s) + value_dim(s));
}

double mc_shape_attention_flops(const struct mc_shape *s, double n, double p)
{
	return mc_shape_pair_flops(s) * (n * (n + 1) - p * (p + 1)) / 2;
}

/* Bounds keep every product of the counts below 2^63. */
#define AT(field) offsetof(struct mc_shape, field)
const struct mc_shape_key mc_shape_keys[] = {
    {"layers", AT(layers), 1, 10000, true},
    {"hidden", AT(hidden), 1, 1000000, true},
    {"heads", AT(heads), 1, 10000, true},
    {"kv_heads", AT(kv_heads), 1, 10000, true},
    {"head_dim", AT(head_dim), 1, 10000, true},
    {"ffn", AT(ffn), 1, 10000000, true},
    {"vocab", AT(vocab), 1, 100000000, true},
    {"weight_bytes_per_param", AT(weight_bytes_per_param), 1, 4, true},
    {"kv_bytes_per_value", AT(kv_bytes_per_value), 1, 4, true},
    {"tied_embeddings", AT(tied_embeddings), 0, 1, false},
    {"qkv_bias", AT(qkv_bias), 0, 1, false},
    {"experts", AT(experts), 0, 100000, false},
    {"experts_per_token", AT(experts_per_token), 0, 100000, false},
    {"shared_experts", AT(shared_experts), 0, 1000, false},
    {"expert_ffn", AT(expert_ffn), 0, 10000000, false},
    {"dense_layers", AT(dense_layers), 0, 10000, false},
    {"kv_lora_rank", AT(kv_lora_rank), 0, 100000, false},
    {"q_lora_rank", AT(q_lora_rank), 0, 100000, false},
    {"rope_head_dim", AT(rope_head_dim), 0, 10000, false},
    {"v_head_dim", AT(v_head_dim), 0, 10000, false},
    {0},
};

bool mc_shape_same_compute(const struct mc_shape *a, const struct mc_shape *b)
{
	struct mc_shape x = *a;

	memcpy(x.name, b->name, sizeof x.name);
	x.kv_bytes_per_value = b->kv_bytes_per_value;
	for (const struct mc_shape_key *k = mc_shape_keys; k->key; k++)
		if (memcmp((const char *)&x + k->offset, (const char *)b + k->offset, sizeof(int64_t)))
			return false;
	return true;
}

bool mc_shape_is_dense(const struct mc_shape *s)
{
	return !s->experts && !s->kv_lora_rank;
}

const struct mc_shape *mc_shape_find(const char *name)
{
	for (const struct mc_shape *s = mc_shapes; s->name[0]; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

int mc_shape_check(const struct mc_shape *s, struct mc_err *err)
{
	const char *key = NULL, *what = NULL;

	if (s->heads % s->kv_heads)
		key = "kv_heads", what = "does not divide heads";
	else if (s->kv_lora_rank && (!s->rope_head_dim || !s->v_head_dim))
		key = "kv_lora_rank",
		what = "is latent attention; expected rope_head_dim and v_head_dim with it";
	else if (!s->kv_lora_rank && (s->q_lora_rank || s->rope_head_dim || s->v_head_dim))
		key = "kv_lora_rank",
		what = "is missing; q_lora_rank, rope_head_dim and v_head_dim are of latent attention";
	else if (s->experts && (!s->experts_per_token || !s->expert_ffn || s->experts_per_token > s->experts))
		key = "experts",
		what = "are there; expected experts_per_token, at most as many, and expert_ffn with them";
	else if (!s->experts &&
		 (s->experts_per_token || s->shared_experts || s->expert_ffn || s->dense_layers))
		key = "experts", what = "is missing; other keys are of a mixture of experts";
	else if (s->dense_layers > s->layers)
		key = "dense_layers", what = "is more than layers";
	if (!key)
		return MC_OK;
	return mc_err_key(err, MC_USAGE, key, "%s", what);
}
