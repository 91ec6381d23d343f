# The CUDA sources on the CPU: kernels and host code compiled by the host's compilers against the headers here, which stand for CUDA's.
# One cu_NAME.cc for each kernels/cuda/NAME.cu; the tests of tests/kernels once more, with this library before the real backend.
EXTRA_LIBRARIES += libmcshim.a
libmcshim_a_CPPFLAGS = -I$(top_srcdir)/tests/shim $(AM_CPPFLAGS) -DMC_SHIM
libmcshim_a_SOURCES =
