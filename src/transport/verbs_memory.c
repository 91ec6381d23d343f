/*
 * Memory at a port: registered with the device as long as there is one. A GPU's memory takes a driver that
 * lets NICs in: either the device registers its addresses as they are (nvidia-peermem), or CUDA's driver
 * exports it as a dma-buf. That is loaded when such memory is met; nothing here links CUDA.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <unistd.h>

#include "transport/verbs_port.h"

#define KEY_TRIES 8

static bool is_gpu(const struct mc_memory *m)
{
	return !strncmp(m->place, "cuda:", 5);
}

/* cuMemGetHandleForAddressRange(&fd, address, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0) */
typedef int export_fn(void *handle, unsigned long long at, size_t bytes, int type, unsigned long long flags);

/* A dma-buf of the whole pages that hold the memory; skip: bytes before it in there. */
static int export_gpu(const struct mc_memory *m, int *fd, size_t *skip, struct mc_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)m->base & ~(page - 1);
	uintptr_t to = ((uintptr_t)m->base + m->bytes + page - 1) & ~(page - 1);
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	export_fn *export = NULL;
	int rc;

	if (!cuda)
		return mc_err_set(err, MC_NOHW, "memory of a GPU, but this process has no driver of one");
	*(void **)&export = dlsym(cuda, "cuMemGetHandleForAddressRange");
	*skip = (uintptr_t)m->base - from;
	rc = export ? export(fd, from, to - from, 1, 0) : -1;
	dlclose(cuda);
	if (rc)
		return mc_err_set(err, MC_NOHW,
				  "the GPU's driver does not give its memory to a NIC (error %d)", rc);
	return 0;
}

static struct ibv_mr *place_gpu(struct mc_port *p, const struct mc_memory *m, int flags, struct mc_err *err)
{
	struct ibv_mr *mr = ibv_reg_mr(p->dev.pd, m->base, m->bytes, (unsigned)flags);
	size_t skip = 0;
	int fd = -1;

	if (mr || export_gpu(m, &fd, &skip, err))
		return mr;
	mr = ibv_reg_dmabuf_mr(p->dev.pd, skip, m->bytes, (uintptr_t)m->base, fd, flags);
	if (!mr)
		mc_err_errno(err, MC_NOHW, "%s: cannot register memory of a GPU", p->device);
	close(fd);
	return mr;
}

static struct ibv_mr *place_once(struct mc_port *p, const struct mc_verbs_memory *v, struct mc_err *err)
{
	int flags = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *mr;

	if (v->access & MC_ACCESS_READ)
		flags |= IBV_ACCESS_REMOTE_READ;
	if (v->access & MC_ACCESS_WRITE)
		flags |= IBV_ACCESS_REMOTE_WRITE;
	if (is_gpu(&v->m))
		return place_gpu(p, &v->m, flags, err);
	mr = ibv_reg_mr(p->dev.pd, v->m.base, v->m.bytes, (unsigned)flags);
	if (!mr)
		mc_err_errno(err, errno == EFAULT ? MC_NOHW : MC_FAIL, "%s: cannot register %zu bytes",
			     p->device, v->m.bytes);
	return mr;
}

/* What peers may not use has no key for them; devices say 0 there, or anything. */
static bool is_recent(const struct mc_port *p, const struct mc_verbs_memory *v, uint32_t rkey)
{
	size_t n = p->recent_n < MC_VERBS_RECENT ? p->recent_n : MC_VERBS_RECENT;

	for (size_t i = 0; i < n && v->access; i++)
		if (p->recent[i] == rkey)
			return true;
	return false;
}

int mc_verbs_memory_place(struct mc_port *p, struct mc_verbs_memory *v, struct mc_err *err)
{
	struct ibv_mr *mr[KEY_TRIES];
	int n = 0;

	/* A device may give a key again at once. A peer that is late would then get into other memory, so
	 * such a one is kept until the device has given another. */
	do
		mr[n] = place_once(p, v, err);
	while (mr[n] && is_recent(p, v, mr[n]->rkey) && ++n < KEY_TRIES);
	v->mr = n < KEY_TRIES ? mr[n] : NULL;
	if (n == KEY_TRIES)
		mc_err_set(err, MC_FAIL, "%s: the device gives only keys that were used lately", p->device);
	while (n > 0)
		ibv_dereg_mr(mr[--n]);
	if (!v->mr)
		return err && err->rc ? err->rc : MC_FAIL;
	if (v->access)
		p->recent[p->recent_n++ % MC_VERBS_RECENT] = v->mr->rkey;
	return 0;
}

struct mc_verbs_memory *mc_verbs_memory_find(struct mc_port *p, uint64_t key)
{
	size_t low = 0, high = p->memory.n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (p->memory.at[mid].key < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->memory.n && p->memory.at[low].key == key ? p->memory.at + low : NULL;
}

int mc_verbs_memory_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
			     struct mc_err *err)
{
	struct mc_verbs_memory v = {.m = *m, .access = access};
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (p->dev.ctx)
		rc = mc_verbs_memory_place(p, &v, err);
	if (!rc) {
		v.key = ++p->serial;
		mc_vec_push(&p->memory, v);
		*key = v.key;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int mc_verbs_memory_unregister(struct mc_port *p, uint64_t key, struct mc_err *err)
{
	struct mc_verbs_memory *v;
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	v = mc_verbs_memory_find(p, key);
	if (!v) {
		rc = mc_err_set(err, MC_USAGE, "%s: no memory has that key", p->device);
	} else {
		/* What doesn't let go of it loses the device: the kernel then takes all of it back. */
		if (v->mr && ibv_dereg_mr(v->mr) && ibv_dereg_mr(v->mr))
			mc_verbs_device_close(p, "memory could not be unregistered: the device starts anew");
		memmove(v, v + 1, (size_t)(p->memory.at + --p->memory.n - v) * sizeof *v);
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void mc_verbs_memory_drop(struct mc_port *p)
{
	for (size_t i = 0; i < p->memory.n; i++) {
		struct ibv_mr *mr = p->memory.at[i].mr;

		if (mr && ibv_dereg_mr(mr))
			ibv_dereg_mr(mr);
		p->memory.at[i].mr = NULL;
	}
}
