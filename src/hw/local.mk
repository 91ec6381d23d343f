libmooncake_a_SOURCES += \
	%D%/fields.c \
	%D%/internal.h \
	%D%/nics.c \
	%D%/profile.c %D%/profile.h

# Holds the folder of the profiles, which another --prefix moves.
%D%/profile.$(OBJEXT): Makefile
