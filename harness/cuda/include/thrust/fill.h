#pragma once

#include "../emu/thrust/algorithms.h"
