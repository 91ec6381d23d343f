#include "hw/profile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hw/internal.h"

/* The profile directories, in the order in which they are searched; NULL where not set. */
static const char *profile_dir(int i)
{
	return i ? MC_PROFILE_DIR : getenv("MOONCAKE_PROFILE_DIR");
}

static bool profile_is_path(const char *s)
{
	size_t n = strlen(s);

	return strchr(s, '/') || (n > 5 && !strcmp(s + n - 5, ".json"));
}

static char *profile_find(const char *name, struct mc_err *err)
{
	char path[4096];
	FILE *f;
	int i;

	if (profile_is_path(name))
		return mc_xstrdup(name);
	for (i = 0; i < 2; i++) {
		if (!profile_dir(i))
			continue;
		if ((size_t)snprintf(path, sizeof path, "%s/%s.json", profile_dir(i), name) >= sizeof path)
			continue;
		f = fopen(path, "r");
		if (!f)
			continue;
		fclose(f);
		return mc_xstrdup(path);
	}
	mc_err_set(
	    err, MC_USAGE,
	    "no profile is named '%.64s' in %.160s%s%.160s; see 'mooncake list profiles', or give a path "
	    "(MOONCAKE_PROFILE_DIR is searched first)",
	    name, getenv("MOONCAKE_PROFILE_DIR") ? getenv("MOONCAKE_PROFILE_DIR") : "",
	    getenv("MOONCAKE_PROFILE_DIR") ? " or " : "", MC_PROFILE_DIR);
	return NULL;
}

static int measured_check(const struct mc_measured *m, struct mc_err *err)
{
	const char *key = NULL;

	if (m->heads % m->kv_heads)
		key = "shape.kv_heads";
	else if (m->trust.prompt_max < m->fit.prompt_max)
		key = "trusted.prompt_max";
	else if (m->trust.context_max < m->fit.context_max)
		key = "trusted.context_max";
	else if (m->trust.batch_max < m->fit.batch_max)
		key = "trusted.batch_max";
	if (!key)
		return 0;
	mc_err_set(err, MC_USAGE, "%s",
		   key[0] == 's' ? "does not divide shape.heads"
				 : "is below the fitted one; the trusted range holds it");
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

/* One entry of "measured", as strict as the file around it. */
static int measured_load(struct mc_measured *m, const json_t *o, const char *path, struct mc_err *err)
{
	char *text;
	int rc;

	rc = mc_conf_init(&m->conf, mc_measured_fields, m, err);
	if (rc)
		return rc;
	text = json_dumps(o, JSON_REAL_PRECISION(17));
	if (!text)
		rc = mc_err_set(err, MC_FAIL, "out of memory");
	if (!rc)
		rc = mc_conf_load_text(&m->conf, text, strlen(text), path, err);
	free(text);
	if (!rc)
		rc = mc_conf_check(&m->conf, err);
	if (!rc)
		rc = measured_check(m, err);
	if (rc)
		mc_conf_fini(&m->conf);
	return rc;
}

static bool measured_same(const struct mc_measured *a, const struct mc_measured *b)
{
	return a->tensor_parallel == b->tensor_parallel && a->layers == b->layers && a->hidden == b->hidden &&
	       a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
	       a->ffn == b->ffn && a->vocab == b->vocab &&
	       a->weight_bytes_per_param == b->weight_bytes_per_param &&
	       a->kv_bytes_per_value == b->kv_bytes_per_value && a->tied_embeddings == b->tied_embeddings &&
	       a->qkv_bias == b->qkv_bias && a->experts == b->experts &&
	       a->experts_per_token == b->experts_per_token && a->shared_experts == b->shared_experts &&
	       a->expert_ffn == b->expert_ffn && a->dense_layers == b->dense_layers &&
	       a->kv_lora_rank == b->kv_lora_rank && a->q_lora_rank == b->q_lora_rank &&
	       a->rope_head_dim == b->rope_head_dim && a->v_head_dim == b->v_head_dim;
}

/* An error inside a section: its place is in text of our own making, so only its key says where. */
static void section_place(struct mc_err *err, const char *path, const char *section)
{
	char key[sizeof err->key];

	if (!err)
		return;
	snprintf(key, sizeof key, "%.50s%s%.70s", section, err->key[0] ? "." : "", err->key);
	memcpy(err->key, key, sizeof key);
	snprintf(err->file, sizeof err->file, "%s", path);
	err->line = err->column = 0;
}

static int profile_load_measured(struct mc_profile *p, struct mc_err *err)
{
	struct mc_measured *m, *k;
	const char *name;
	char section[64];
	json_t *o;
	int rc;

	if (p->measured_json && !json_is_object(p->measured_json)) {
		mc_err_set(err, MC_USAGE, "is not an object of measured times, keyed by model and degree");
		mc_err_at(err, p->path, 0, 0, "measured");
		return MC_USAGE;
	}
	p->measured = mc_xcalloc(json_object_size(p->measured_json) + 1, sizeof *p->measured);
	json_object_foreach(p->measured_json, name, o)
	{
		m = &p->measured[p->n_measured];
		rc = measured_load(m, o, p->path, err);
		if (!rc) {
			m->key = mc_xstrdup(name);
			p->n_measured++;
			for (k = p->measured; !measured_same(k, m); k++)
				;
			if (k < m)
				rc = mc_err_set(err, MC_USAGE, "has the shape and degree of measured.%.64s",
						k->key);
		}
		if (rc) {
			snprintf(section, sizeof section, "measured.%.40s", name);
			section_place(err, p->path, section);
			return rc;
		}
	}
	return 0;
}

void mc_profile_limits(const struct mc_profile *p, struct mc_op_limits *l)
{
	memset(l, 0, sizeof *l);
	l->flops = p->peak_flops;
	l->memory_bytes_per_s = p->memory_bytes_per_s;
	l->link_bytes_per_s = p->link_bytes_per_s;
	l->h2d_bytes_per_s = p->h2d_bytes_per_s;
	l->disk_read_bytes_per_s = (double)p->ssds * p->ssd_read_bytes_per_s;
	l->disk_write_bytes_per_s = (double)p->ssds * p->ssd_write_bytes_per_s;
	l->net_bytes_per_s = mc_profile_line_bytes_per_s(p);
}

static int profile_load_operators(struct mc_profile *p, struct mc_err *err)
{
	struct mc_op_limits l;
	int rc;

	if (!p->operators_json)
		return 0;
	mc_profile_limits(p, &l);
	rc = mc_operators_load(&p->operators, p->operators_json, &l, err);
	if (rc)
		section_place(err, p->path, "operators");
	return rc;
}

static int profile_load(struct mc_profile *p, const char *text, const char *path, struct mc_err *err)
{
	int rc;

	memset(p, 0, sizeof *p);
	rc = mc_conf_init(&p->conf, mc_profile_fields, p, err);
	if (rc)
		return rc;
	p->path = mc_xstrdup(path);
	rc = text ? mc_conf_load_text(&p->conf, text, strlen(text), path, err)
		  : mc_conf_load(&p->conf, path, err);
	if (!rc && ((rc = mc_conf_check(&p->conf, err)) || (rc = mc_profile_check_nics(p, err))))
		mc_err_at(err, path, 0, 0, NULL);
	if (!rc && p->dram_bytes_per_s > 0 && p->dram_bytes_per_s < p->h2d_bytes_per_s)
		p->h2d_bytes_per_s = p->dram_bytes_per_s; /* each byte that a GPU loads is read there */
	if (!rc)
		rc = profile_load_measured(p, err);
	if (!rc)
		rc = profile_load_operators(p, err);
	if (rc)
		mc_profile_fini(p);
	return rc;
}

int mc_profile_load_text(struct mc_profile *p, const char *text, const char *path, struct mc_err *err)
{
	return profile_load(p, text, path, err);
}

int mc_profile_load(struct mc_profile *p, const char *name_or_path, struct mc_err *err)
{
	char *path = profile_find(name_or_path, err);
	int rc;

	memset(p, 0, sizeof *p);
	if (!path)
		return MC_USAGE;
	rc = profile_load(p, NULL, path, err);
	free(path);
	return rc;
}

void mc_profile_fini(struct mc_profile *p)
{
	int64_t i;

	for (i = 0; i < p->n_measured; i++) {
		mc_conf_fini(&p->measured[i].conf);
		free(p->measured[i].key);
	}
	free(p->measured);
	mc_operators_fini(&p->operators);
	free(p->path);
	mc_conf_fini(&p->conf);
	memset(p, 0, sizeof *p);
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

char **mc_profile_list(void)
{
	struct {
		MC_VEC(char *)
	} names = {0};
	size_t i, kept = 0;

	for (int d = 0; d < 2; d++) {
		DIR *dir = profile_dir(d) ? opendir(profile_dir(d)) : NULL;
		struct dirent *e;

		while (dir && (e = readdir(dir))) {
			size_t n = strlen(e->d_name);

			if (n <= 5 || e->d_name[0] == '.' || strcmp(e->d_name + n - 5, ".json"))
				continue;
			mc_vec_push(&names, mc_xstrdup(e->d_name));
			names.at[names.n - 1][n - 5] = '\0';
		}
		if (dir)
			closedir(dir);
	}
	if (names.n)
		qsort(names.at, names.n, sizeof *names.at, name_compare);
	for (i = 0; i < names.n; i++) {
		if (kept && !strcmp(names.at[kept - 1], names.at[i]))
			free(names.at[i]);
		else
			names.at[kept++] = names.at[i];
	}
	names.n = kept;
	mc_vec_push(&names, NULL);
	return names.at;
}
