#pragma once

#include "../emu/thrust/containers.h"
