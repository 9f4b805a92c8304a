// Random numbers by Thrust's names; the numbers are not Thrust's.
#pragma once

#include <random>

namespace thrust {

using default_random_engine = std::minstd_rand;
using std::minstd_rand;
using std::minstd_rand0;
template <class T = float>
using uniform_real_distribution = std::uniform_real_distribution<T>;
template <class T = int>
using uniform_int_distribution = std::uniform_int_distribution<T>;
template <class T = float>
using normal_distribution = std::normal_distribution<T>;
namespace random {
using thrust::default_random_engine;
using thrust::normal_distribution;
using thrust::uniform_int_distribution;
using thrust::uniform_real_distribution;
}  // namespace random

}  // namespace thrust
