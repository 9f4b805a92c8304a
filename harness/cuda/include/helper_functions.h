// What NVIDIA's samples include for the host's part.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "helper_string.h"
#include "helper_timer.h"

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

/// Whether all values lie within `epsilon` of the reference, or at most a part `threshold` of them does not.
template <class T>
bool compareData(const T* reference, const T* data, unsigned count, T epsilon, float threshold) {
    unsigned apart = 0;
    for (unsigned i = 0; i < count; ++i) {
        const double difference = static_cast<double>(reference[i]) - static_cast<double>(data[i]);
        if (!(std::fabs(difference) <= static_cast<double>(epsilon))) ++apart;
    }
    return static_cast<float>(apart) <= static_cast<float>(count) * threshold;
}
/// Whether the norm of the difference is below `epsilon` of the reference's norm.
inline bool sdkCompareL2fe(const float* reference, const float* data, unsigned count, float epsilon) {
    double difference = 0, norm = 0;
    for (unsigned i = 0; i < count; ++i) {
        difference += (double(reference[i]) - data[i]) * (double(reference[i]) - data[i]);
        norm += double(reference[i]) * reference[i];
    }
    return norm > 0 && std::sqrt(difference) < epsilon * std::sqrt(norm);
}
