/* empty.c: a shared object that is no instrument. */
extern const int nothing;

__attribute__((visibility("default"))) const int nothing = 0;
