#pragma once

#include "../../emu/thrust/random.h"
