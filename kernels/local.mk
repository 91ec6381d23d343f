EXTRA_DIST += %D%/README
# Compute backends. libmckernels.a: the table, what all backends share, the CPU. Programs that use it link $(MC_KERNEL_LIBS), which
# never hold GSL. CUDA's host code and kernels are libmckernels_cuda.a; without CUDA absent.c stands for them.
noinst_LIBRARIES += libmckernels.a
# Nothing here must be the same bytes everywhere; it must be fast.
libmckernels_a_CFLAGS = $(MC_CFLAGS) -ffp-contract=fast $(MC_SAN) $(CBLAS_CFLAGS) $(JANSSON_CFLAGS)
libmckernels_a_SOURCES = \
	%D%/backend.c %D%/backend.h \
	%D%/cpu/all_reduce.c \
	%D%/cpu/attend.c %D%/cpu/attend.h \
	%D%/cpu/attention_decode.c \
	%D%/cpu/attention_prefill.c \
	%D%/cpu/backend.c \
	%D%/cpu/cpu.h \
	%D%/cpu/device.c \
	%D%/cpu/gemm.c \
	%D%/cpu/kv_pages.c \
	%D%/cpu/pool.c %D%/cpu/pool.h \
	%D%/cpu/rows.c \
	%D%/cpu/sample.c \
	%D%/cpu/stream.c \
	%D%/cpu/vec.h \
	%D%/cpu/vec_avx2.c \
	%D%/cpu/vec_avx512.c \
	%D%/cpu/vec_base.c \
	%D%/cpu/vec_math.h \
	%D%/cpu/vec_matrix.h \
	%D%/cpu/vec_rows.h \
	%D%/cpu/vec_table.h \
	%D%/cuda/launch.h \
	%D%/cuda/splits.h \
	%D%/dtype.h \
	%D%/kv_layout.h \
	%D%/llama.c %D%/llama.h \
	%D%/llama_config.c \
	%D%/llama_internal.h \
	%D%/llama_load.c \
	%D%/llama_run.c \
	%D%/llama_shape.c %D%/llama_shape.h \
	%D%/llama_step.c \
	%D%/ops.c %D%/ops.h \
	%D%/safetensors.c %D%/safetensors.h \
	%D%/safetensors_index.c %D%/safetensors_internal.h \
	%D%/weights.c %D%/weights.h \
	%D%/work.c %D%/work.h

KERNEL_BACKENDS = cpu cuda
nodist_libmckernels_a_SOURCES = %D%/backend_registry.c
BUILT_SOURCES += %D%/backend_registry.c
CLEANFILES += %D%/backend_registry.c
%D%/backend_registry.c: $(top_srcdir)/%D%/local.mk $(top_srcdir)/build-aux/registry.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && \
	$(REGISTRY) kernels/backend.h 'struct mc_backend' mc_backends mc_backend_ $(KERNEL_BACKENDS) >$@.tmp && mv $@.tmp $@

# One kernel family a file.
KERNELS_CUH = \
	%D%/cuda/blas.cuh \
	%D%/cuda/launch.cuh \
	%D%/cuda/number.cuh \
	%D%/cuda/prefill_splits.cuh \
	%D%/cuda/ptx.cuh \
	%D%/cuda/tile.cuh
EXTRA_LIBRARIES += libmckernels_cuda.a
libmckernels_cuda_a_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
libmckernels_cuda_a_SOURCES = $(KERNELS_CUH) \
	%D%/cuda/activation.cu \
	%D%/cuda/all_reduce.cu \
	%D%/cuda/attention_decode.cu \
	%D%/cuda/attention_prefill.cu \
	%D%/cuda/backend.c \
	%D%/cuda/blas.c \
	%D%/cuda/comm.c \
	%D%/cuda/device.c \
	%D%/cuda/embed.cu \
	%D%/cuda/errors.c \
	%D%/cuda/gemm.c \
	%D%/cuda/host.h \
	%D%/cuda/kv_pages.cu \
	%D%/cuda/norm.cu \
	%D%/cuda/rope.cu \
	%D%/cuda/sample.cu \
	%D%/cuda/stream.c

MC_KERNEL_LIBS = libmckernels.a
if HAVE_CUDA
noinst_LIBRARIES += libmckernels_cuda.a
MC_KERNEL_LIBS += libmckernels_cuda.a libmckernels.a
else
libmckernels_a_SOURCES += %D%/cuda/absent.c
endif
MC_KERNEL_LIBS += libmooncake.a $(CBLAS_LIBS) $(JANSSON_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS)
if HAVE_CUDA
MC_KERNEL_LIBS += $(CUDA_LIBS)
endif
MC_KERNEL_LIBS += -lpthread -lm

# Times them all; prints figures and judges none.
noinst_PROGRAMS += %D%/bench
%C%_bench_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
%C%_bench_SOURCES = \
	%D%/bench.c %D%/bench.h \
	%D%/bench_args.c \
	%D%/bench_case.c \
	%D%/bench_device.c \
	%D%/bench_gemm.c \
	%D%/bench_kv.c \
	%D%/bench_model.c \
	%D%/bench_move.c \
	%D%/bench_print.c \
	%D%/bench_rows.c
%C%_bench_LDADD = $(MC_KERNEL_LIBS)

SUFFIXES += .cu
.cu.$(OBJEXT):
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(NVCC) $(NVCC_WARN) $(NVCCFLAGS) -std=c++17 -Xcompiler -Wall,-Wextra \
		$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -MD -MF $@.d -c -o $@ $<
# What a kernel was made from: written by nvcc beside its object.
-include $(libmckernels_cuda_a_OBJECTS:=.d)
