# Operators of every backend that this machine can run, against double precision: one program a file, test_NAME.c on rig.h.
# tests/shim runs the same programs on the CUDA sources.
KERNEL_TESTS = \
	%D%/test_all_reduce \
	%D%/test_attention \
	%D%/test_attention_prefill \
	%D%/test_device \
	%D%/test_elementwise \
	%D%/test_gemm \
	%D%/test_kv \
	%D%/test_llama \
	%D%/test_llama_ranks \
	%D%/test_norm \
	%D%/test_rope \
	%D%/test_sample
# What needs no device, and so runs once.
KERNEL_HOST_TESTS = \
	%D%/test_cpu \
	%D%/test_llama_shape \
	%D%/test_safetensors \
	%D%/test_work
if HAVE_CHECK
check_PROGRAMS += $(KERNEL_TESTS) $(KERNEL_HOST_TESTS)
TESTS += $(KERNEL_TESTS) $(KERNEL_HOST_TESTS)
endif
check_LIBRARIES += libmckerneltest.a
libmckerneltest_a_SOURCES = \
	%D%/llama_rig.c %D%/llama_rig.h \
	%D%/naive_attention.c %D%/naive_attention.h \
	%D%/naive_llama.c %D%/naive_llama.h \
	%D%/paged_batch.c %D%/paged_batch.h \
	%D%/rig.c %D%/rig.h
MC_KERNEL_TEST_LIBS = libmckerneltest.a $(MC_KERNEL_LIBS) $(CHECK_LIBS)
%C%_test_all_reduce_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_attention_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_attention_prefill_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_cpu_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_device_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_elementwise_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_gemm_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_kv_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_llama_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_llama_ranks_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_llama_shape_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_norm_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_rope_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_safetensors_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_sample_LDADD = $(MC_KERNEL_TEST_LIBS)
%C%_test_work_LDADD = $(MC_KERNEL_TEST_LIBS)
