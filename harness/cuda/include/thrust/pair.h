#pragma once

#include "../emu/thrust/functional.h"
