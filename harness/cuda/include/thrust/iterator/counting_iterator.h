#pragma once

#include "../../emu/thrust/iterators.h"
