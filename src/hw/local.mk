libmooncake_a_SOURCES += \
	%D%/curve.c %D%/curve.h \
	%D%/fields.c \
	%D%/gaps.c %D%/gaps.h \
	%D%/internal.h \
	%D%/nettime.c %D%/nettime.h \
	%D%/nics.c \
	%D%/operator.c %D%/operator.h \
	%D%/operators.c %D%/operators.h \
	%D%/opsamples.c %D%/opsamples.h \
	%D%/optime.c %D%/optime.h \
	%D%/profile.c %D%/profile.h

# Holds the folder of the profiles, which another --prefix moves.
%D%/profile.$(OBJEXT): Makefile
