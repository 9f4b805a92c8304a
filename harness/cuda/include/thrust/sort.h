#pragma once

#include "../emu/thrust/orders.h"
