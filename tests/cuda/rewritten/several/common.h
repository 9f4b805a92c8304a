#ifndef COMMON_H
#define COMMON_H
#define FACTOR 1
#endif
