// Lanes that a mask leaves out, that have left, or that the block does not have.
#include "device.h"

__global__ void outsider_runs_on(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (t < 16) {
        __syncwarp(0x0000ffff);
        out[t] = s[t + 16];  // FAULT shared_race
    }
}

__global__ void outsider_has_left(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (t >= 16) {
        return;
    }
    __syncwarp(0x0000ffff);
    out[t] = s[t + 16];  // FAULT shared_race
}

__global__ void halves_meet_apart(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (t < 16) {
        __syncwarp(0x0000ffff);
    } else {
        __syncwarp(0xffff0000);
    }
    out[t] = s[t ^ 16];  // FAULT shared_race
}

__global__ void two_outsiders(int* out) {  // both left out while the first half meets
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t == 17) {
        s[0] = 1;  // FAULT shared_race
    }
    if (t < 16) {
        __syncwarp(0x0000ffff);
    }
    if (t == 18) {
        out[0] = s[0];  // FAULT shared_race
    }
}

__global__ void neighbouring_eights(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    __syncwarp(0xffu << (t & ~7));
    out[t] = s[(t + 1) % 32];  // FAULT shared_race
}

__global__ void all_but_the_last(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    if (t == 31) {
        s[0] = 5;  // FAULT shared_race
        return;
    }
    __syncwarp(0x7fffffff);
    out[t] = s[0];  // FAULT shared_race
}

__global__ void takes_from_who_left(int* out) {
    int t = threadIdx.x;
    if (t >= 20) {
        return;
    }
    out[t] = __shfl_sync(0xffffffff, t, 25);  // FAULT inactive_lane
}

__global__ void takes_from_who_never_was(int* out) {
    int t = threadIdx.x, v = t;
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_down_sync(0xffffffff, v, offset);  // FAULT inactive_lane
    }
    out[t] = v;
}

__global__ void votes_without_a_vote(int* out) {
    int t = threadIdx.x;
    out[t] = __ballot_sync(0x00ffffff, t & 1);  // FAULT inactive_lane
}

__global__ void leaders_word(int* out) {
    __shared__ int leader;
    int t = threadIdx.x;
    if (t == 0) {
        leader = 3;  // FAULT shared_race
    }
    out[t] = leader;  // FAULT shared_race
}

__global__ void steps_of_a_warp_sum(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    s[t + 32] = t;
    __syncwarp();
    for (int half = 32; half > 0; half /= 2) {
        s[t] += s[t + half];  // FAULT shared_race
    }
    out[t] = s[0];
}

__global__ void second_meeting_is_too_small(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    __syncwarp();
    int next = s[(t + 1) % 32];  // FAULT shared_race
    __syncwarp(t < 16 ? 0x0000ffff : 0xffff0000);
    s[t] = next;  // FAULT shared_race
    __syncwarp();
    out[t] = s[t];
}

__global__ void left_before_they_wrote(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= 48) {
        return;
    }
    s[t] = t;
    __syncthreads();
    out[t] = s[t] + s[t + 16];  // FAULT uninitialized_read
}

__global__ void source_outside_the_mask(int* out) {
    int t = threadIdx.x;
    if (t < 8) {
        out[t] = __shfl_sync(0x000000ff, t, 12);  // FAULT inactive_lane
    }
}

__global__ void warps_meet_apart(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    __syncwarp();
    out[t] = s[63 - t];  // FAULT shared_race
}

__global__ void left_and_never_met(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;  // FAULT shared_race
    if (t >= 32) {
        return;
    }
    __syncwarp();
    out[t] = s[t + 32];  // FAULT shared_race
}

__global__ void reused_before_all_have_read(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    for (int round = 0; round < 2; ++round) {
        s[t] = t + round;  // FAULT shared_race
        __syncwarp();
        out[t + 32 * round] = s[31 - t];  // FAULT shared_race
    }
}

__global__ void half_a_warp_waits_for_the_other(int* out) {
    int t = threadIdx.x;
    if (t < 16) {
        out[t] = __shfl_sync(0xffffffff, t, 0);  // FAULT deadlock
    }
    __syncthreads();
}

int main() {
    outsider_runs_on<<<1, 32>>>(zeros<int>());
    outsider_has_left<<<1, 32>>>(zeros<int>());
    halves_meet_apart<<<1, 32>>>(zeros<int>());
    two_outsiders<<<1, 32>>>(zeros<int>());
    neighbouring_eights<<<1, 32>>>(zeros<int>());
    all_but_the_last<<<1, 32>>>(zeros<int>());
    takes_from_who_left<<<1, 32>>>(zeros<int>());
    takes_from_who_never_was<<<1, 20>>>(zeros<int>());
    votes_without_a_vote<<<1, 32>>>(zeros<int>());
    leaders_word<<<1, 32>>>(zeros<int>());
    steps_of_a_warp_sum<<<1, 32>>>(zeros<int>());
    second_meeting_is_too_small<<<1, 32>>>(zeros<int>());
    left_before_they_wrote<<<1, 64>>>(zeros<int>());
    source_outside_the_mask<<<1, 32>>>(zeros<int>());
    warps_meet_apart<<<1, 64>>>(zeros<int>());
    left_and_never_met<<<1, 64>>>(zeros<int>());
    reused_before_all_have_read<<<1, 32>>>(zeros<int>());
    half_a_warp_waits_for_the_other<<<1, 32>>>(zeros<int>());
    cudaDeviceSynchronize();
}
