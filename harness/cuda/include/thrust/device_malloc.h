#pragma once

#include "../emu/thrust/pointers.h"
