/* secret.h: the secret of secret.c, and what the program itself holds it masked with. */
#ifndef TESTS_IDENTITY_SECRET_H
#define TESTS_IDENTITY_SECRET_H

#define SECRET_WORD 0x2173723374657253ull /* "Sret3rs!" */
#define SECRET_MASK 0x5a5a5a5a5a5a5a5aull

#endif
