# The CUDA sources on the CPU: kernels and host code compiled by the host's compilers against the headers here, which stand for CUDA's.
# One cu_NAME.cc for each kernels/cuda/NAME.cu. Each of KERNEL_TESTS once more, with this library before the real backend: a line in
# SHIM_TESTS and three below it. A mistake or two of a new kernel go into faults.sh.
EXTRA_LIBRARIES += libmcshim.a
libmcshim_a_CPPFLAGS = -I$(top_srcdir)/tests/shim $(AM_CPPFLAGS) -DMC_SHIM
# The kernels cast between types of the same bytes as CUDA allows. No C++ library: programs are linked as C.
libmcshim_a_CXXFLAGS = $(MC_CXXFLAGS) $(MC_SAN) -fno-strict-aliasing -Wno-unknown-pragmas -Wno-maybe-uninitialized -fno-exceptions -fno-rtti -fno-threadsafe-statics
libmcshim_a_SOURCES = \
	%D%/cu_activation.cc \
	%D%/cu_all_reduce.cc \
	%D%/cu_attention_decode.cc \
	%D%/cu_attention_prefill.cc \
	%D%/cu_embed.cc \
	%D%/cu_kv_pages.cc \
	%D%/cu_norm.cc \
	%D%/cu_rope.cc \
	%D%/cu_sample.cc \
	%D%/cublas_v2.h \
	%D%/cuda_bf16.h \
	%D%/cuda_fp16.h \
	%D%/cuda_runtime.h \
	%D%/cuda_runtime_api.h \
	%D%/library_types.h \
	%D%/shim.h \
	%D%/shim_block.c \
	%D%/shim_cublas.c \
	%D%/shim_fiber.c \
	%D%/shim_launch.c \
	%D%/shim_launch.h \
	%D%/shim_memory.c \
	%D%/shim_ptx.h \
	%D%/shim_queue.c \
	%D%/shim_runtime.c \
	%D%/shim_stream.c \
	%D%/shim_warp.c \
	%D%/vector_types.h

libmcshim_a_SOURCES += \
	kernels/cuda/backend.c \
	kernels/cuda/blas.c \
	kernels/cuda/comm.c \
	kernels/cuda/device.c \
	kernels/cuda/errors.c \
	kernels/cuda/gemm.c \
	kernels/cuda/host.h \
	kernels/cuda/stream.c

# The linker is told to want the CUDA backend before it comes to the library where the table is, and so takes the shim's.
SHIM_LINK = $(AM_LDFLAGS) -Wl,--undefined=mc_backend_cuda
SHIM_LIBS = libmcshim.a libmckerneltest.a libmcshim.a libmckernels.a libmooncake.a $(CBLAS_LIBS) $(JANSSON_LIBS) $(ZSTD_LIBS) \
	$(XXHASH_LIBS) -lpthread -lm $(CHECK_LIBS)
SHIM_TESTS = \
	%D%/test_all_reduce \
	%D%/test_attention \
	%D%/test_attention_prefill \
	%D%/test_decode_units \
	%D%/test_device \
	%D%/test_elementwise \
	%D%/test_failing \
	%D%/test_gemm \
	%D%/test_kv \
	%D%/test_llama \
	%D%/test_llama_ranks \
	%D%/test_norm \
	%D%/test_rope \
	%D%/test_sample \
	%D%/test_shim \
	%D%/test_shim_runtime
%C%_test_all_reduce_SOURCES = tests/kernels/test_all_reduce.c
%C%_test_all_reduce_LDFLAGS = $(SHIM_LINK)
%C%_test_all_reduce_LDADD = $(SHIM_LIBS)
%C%_test_attention_SOURCES = tests/kernels/test_attention.c
%C%_test_attention_LDFLAGS = $(SHIM_LINK)
%C%_test_attention_LDADD = $(SHIM_LIBS)
%C%_test_attention_prefill_SOURCES = tests/kernels/test_attention_prefill.c
%C%_test_attention_prefill_LDFLAGS = $(SHIM_LINK)
%C%_test_attention_prefill_LDADD = $(SHIM_LIBS)
%C%_test_decode_units_SOURCES = %D%/test_decode_units.c
%C%_test_decode_units_LDFLAGS = $(SHIM_LINK)
%C%_test_decode_units_LDADD = $(SHIM_LIBS)
%C%_test_device_SOURCES = tests/kernels/test_device.c
%C%_test_device_LDFLAGS = $(SHIM_LINK)
%C%_test_device_LDADD = $(SHIM_LIBS)
%C%_test_elementwise_SOURCES = tests/kernels/test_elementwise.c
%C%_test_elementwise_LDFLAGS = $(SHIM_LINK)
%C%_test_elementwise_LDADD = $(SHIM_LIBS)
%C%_test_failing_SOURCES = %D%/test_failing.c
%C%_test_failing_CPPFLAGS = $(libmcshim_a_CPPFLAGS)
%C%_test_failing_LDFLAGS = $(SHIM_LINK)
%C%_test_failing_LDADD = $(SHIM_LIBS)
%C%_test_gemm_SOURCES = tests/kernels/test_gemm.c
%C%_test_gemm_LDFLAGS = $(SHIM_LINK)
%C%_test_gemm_LDADD = $(SHIM_LIBS)
%C%_test_kv_SOURCES = tests/kernels/test_kv.c
%C%_test_kv_LDFLAGS = $(SHIM_LINK)
%C%_test_kv_LDADD = $(SHIM_LIBS)
%C%_test_llama_SOURCES = tests/kernels/test_llama.c
%C%_test_llama_LDFLAGS = $(SHIM_LINK)
%C%_test_llama_LDADD = $(SHIM_LIBS)
%C%_test_llama_ranks_SOURCES = tests/kernels/test_llama_ranks.c
%C%_test_llama_ranks_LDFLAGS = $(SHIM_LINK)
%C%_test_llama_ranks_LDADD = $(SHIM_LIBS)
%C%_test_norm_SOURCES = tests/kernels/test_norm.c
%C%_test_norm_LDFLAGS = $(SHIM_LINK)
%C%_test_norm_LDADD = $(SHIM_LIBS)
%C%_test_rope_SOURCES = tests/kernels/test_rope.c
%C%_test_rope_LDFLAGS = $(SHIM_LINK)
%C%_test_rope_LDADD = $(SHIM_LIBS)
%C%_test_sample_SOURCES = tests/kernels/test_sample.c
%C%_test_sample_LDFLAGS = $(SHIM_LINK)
%C%_test_sample_LDADD = $(SHIM_LIBS)
# mooncake-calib with a GPU: tests/cli/calib.sh runs it.
%C%_calib_SOURCES = $(mooncake_calib_SOURCES)
nodist_%C%_calib_SOURCES = $(nodist_mooncake_calib_SOURCES)
%C%_calib_LDFLAGS = $(SHIM_LINK)
%C%_calib_LDADD = libmccalib.a $(MC_TRANSPORT_LIBS) $(SHIM_LIBS)
# Programs of the shim itself; what is wrong with their kernels is meant.
EXTRA_LIBRARIES += libmcshimkernels.a
libmcshimkernels_a_CPPFLAGS = $(libmcshim_a_CPPFLAGS)
libmcshimkernels_a_CXXFLAGS = $(libmcshim_a_CXXFLAGS)
libmcshimkernels_a_SOURCES = %D%/shim_kernels.cc %D%/shim_kernels.h
%C%_test_shim_SOURCES = %D%/test_shim.c
%C%_test_shim_CPPFLAGS = $(libmcshim_a_CPPFLAGS)
%C%_test_shim_LDFLAGS = $(SHIM_LINK)
%C%_test_shim_LDADD = libmcshimkernels.a $(SHIM_LIBS)
%C%_test_shim_runtime_SOURCES = %D%/test_shim_runtime.c
%C%_test_shim_runtime_CPPFLAGS = $(libmcshim_a_CPPFLAGS)
%C%_test_shim_runtime_LDFLAGS = $(SHIM_LINK)
%C%_test_shim_runtime_LDADD = libmcshimkernels.a $(SHIM_LIBS)
if HAVE_SHIM
if HAVE_CHECK
check_LIBRARIES += libmcshim.a libmcshimkernels.a
check_PROGRAMS += $(SHIM_TESTS) %D%/calib
TESTS += $(SHIM_TESTS) %D%/faults.sh
check_DATA += %D%/faults.env
endif
endif

# Mistakes in kernels, one at a time: how faults.sh compiles and links them.
dist_check_SCRIPTS += %D%/faults.sh
EXTRA_DIST += %D%/fail_fast.c
CLEANFILES += %D%/faults.env
%D%/faults.env: Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && { \
		echo "SHIM_CC='$(CC) $(CFLAGS)' SHIM_CXX='$(CXX)' SHIM_SAN='$(MC_SAN)'"; \
		echo "SHIM_CXXFLAGS='-I$(top_srcdir)/tests/shim -I$(top_srcdir)/src -I$(top_srcdir) -DMC_SHIM $(libmcshim_a_CXXFLAGS)'"; \
		echo "SHIM_LIBS='$(SHIM_LINK) $(LDFLAGS) $(SHIM_LIBS)'"; \
	} >$@.tmp && mv $@.tmp $@
