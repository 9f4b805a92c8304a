#pragma once

#include "../../../emu/thrust/running.h"
