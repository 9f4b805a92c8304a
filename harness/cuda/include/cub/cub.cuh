// CUB's collectives of a block and of a warp, written for the emulated device. What is not here is not there.
#pragma once

#include "../cuda/functional"
#include "../cuda/std/functional"
#include "block/block_exchange.cuh"
#include "block/block_load.cuh"
#include "block/block_radix_sort.cuh"
#include "block/block_reduce.cuh"
#include "block/block_scan.cuh"
#include "block/block_store.cuh"
#include "version.cuh"
#include "warp/warp_reduce.cuh"
#include "warp/warp_scan.cuh"
