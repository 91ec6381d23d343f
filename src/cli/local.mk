bin_PROGRAMS += mooncake
mooncake_SOURCES = %D%/main.c
mooncake_LDADD = $(MC_LIBS)
