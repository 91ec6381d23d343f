libmooncake_a_SOURCES += \
	%D%/beside.c %D%/beside.h \
	%D%/err.c %D%/err.h \
	%D%/file.c %D%/file.h \
	%D%/hash.h \
	%D%/map.c %D%/map.h \
	%D%/str.c %D%/str.h \
	%D%/suggest.c %D%/suggest.h \
	%D%/time.h \
	%D%/units.c %D%/units.h %D%/unitsfmt.c \
	%D%/vec.c %D%/vec.h
