// The version of CUB whose names are here; later ones dropped cub::Sum and its like.
#pragma once

#define CUB_VERSION 200700
#define CUB_MAJOR_VERSION (CUB_VERSION / 100000)
#define CUB_MINOR_VERSION (CUB_VERSION / 100 % 1000)
#define CUB_SUBMINOR_VERSION (CUB_VERSION % 100)
